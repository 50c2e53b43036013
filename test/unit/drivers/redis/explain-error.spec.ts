import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { codeOf, explain } from '../../../../lib/drivers/redis/explain-error.js';

describe('an error of a server', () => {
  it.each([
    ['CLUSTERDOWN The cluster is down', 'no primary'],
    ['LOADING Redis is loading the dataset in memory', 'not ready yet'],
    ['MASTERDOWN Link with MASTER is down', 'client of the primary'],
    ['MISCONF Errors writing to the AOF file', 'takes no writes'],
    ['MOVED 3999 127.0.0.1:6381', 'a cluster client'],
    ['NOAUTH Authentication required.', 'give the client a password'],
    ["NOPERM this user has no permissions to run the 'info' command", 'docs/redis.md'],
    ['NOREPLICAS Not enough good replicas to write.', 'min-replicas-to-write'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'raise maxmemory'],
    ["READONLY You can't write against a read only replica.", 'this is a replica'],
    ['UNBLOCKED force unblock from blocking operation', 'become a replica'],
    ['WRONGPASS invalid username-password pair', 'password of the client is wrong'],
    ['WRONGTYPE Operation against a key', 'choose another `prefix`'],
  ])('is kept, with what to do about it: %s', (message, advice) => {
    const cause = new Error(message);
    const error = explain(cause);
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error.message.startsWith(message)).toBe(true);
    expect(error.message.slice(message.length)).toContain(advice);
    expect(error.cause).toBe(cause);
  });

  it.each([
    "ERR The user executing the script can't run this command or subcommand script: 5, on @user_script:1.",
    'ERR ... No permissions to access a key',
  ])('in the words of scripts is told to be a right that is missing: %s', (message) => {
    expect(explain(new Error(message)).message).toContain('docs/redis.md');
  });

  it('that is not known is kept as it is', () => {
    expect(explain(new Error('ERR unknown command')).message).toBe('ERR unknown command');
    expect(explain(new Error('Connection is closed.')).message).toBe('Connection is closed.');
  });

  it('that is no error is made one', () => {
    const error = explain('gone');
    expect(error).toBeInstanceOf(LockDriverError);
    expect(error).toMatchObject({ message: 'gone', cause: 'gone' });
  });

  it('that was explained already is not explained again', () => {
    const error = new LockDriverError('LOADING');
    expect(explain(error)).toBe(error);
  });
});

describe('the code of an error', () => {
  it.each([
    ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT'],
    ['TRYAGAIN', 'TRYAGAIN'],
    ['Connection is closed.', ''],
    ['not NOSCRIPT', ''],
    ['NOSCRIPT: what a proxy says', ''],
    ['', ''],
  ])('is the word in capitals that it begins with: %j', (message, code) => {
    expect(codeOf(new Error(message))).toBe(code);
  });

  it.each(['NOSCRIPT', null, undefined, { message: 'NOSCRIPT' }])('is none for %j', (thrown) => {
    expect(codeOf(thrown)).toBe('');
  });
});

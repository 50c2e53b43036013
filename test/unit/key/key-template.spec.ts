import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { KeyTemplate } from '../../../lib/key/key-template.js';

const WHERE = 'OrdersService.pay';

const resolve = (source: string, ...args: unknown[]): string =>
  new KeyTemplate(source, WHERE).resolve(args);

/** What was thrown; fails if nothing was. */
function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Nothing was thrown');
}

class ObjectId {
  constructor(private readonly hex: string) {}

  toString(): string {
    return this.hex;
  }
}

describe('a key template', () => {
  const order = { id: 7, customer: { id: 'c1', tags: ['vip', 'eu'] }, note: undefined };

  it.each([
    ['nightly', 'nightly'],
    ['order:<0.id>', 'order:7'],
    ['order:{0.id}', 'order:7'],
    ['<0.id>', '7'],
    ['{0.id}/{1}', '7/eu'],
    ['<0.id>|{1}', '7|eu'],
    ['{1}:<0.id>', 'eu:7'],
    ['<1>:<1>', 'eu:eu'],
    ['customer:<0.customer.id>:order:<0.id>:end', 'customer:c1:order:7:end'],
    ['tag:<0.customer.tags.1>', 'tag:eu'],
    ['tags:<0.customer.tags.length>', 'tags:2'],
    ['length:<1.length>', 'length:2'],
    ['<0.id> of <1>', '7 of eu'],
    ['100% of <1>', '100% of eu'],
  ])('%s gives %s', (source, key) => {
    expect(resolve(source, order, 'eu')).toBe(key);
  });

  it.each([
    ['a letter beyond ASCII', '<0.größe>', { größe: 'L' }, 'L'],
    ['an underscore and a dollar', '<0._$id>', { _$id: 'x' }, 'x'],
    ['a digit first', '<0.2nd>', { '2nd': 'x' }, 'x'],
  ])('takes a property with %s', (_, source, value, key) => {
    expect(resolve(source, value)).toBe(key);
  });

  it('reads properties that the class has, not the object: getters, and those of a primitive', () => {
    class Cart {
      get total(): number {
        return 42;
      }
    }
    expect(resolve('<0.total>', new Cart())).toBe('42');
    expect(resolve('<0.length>', 'four')).toBe('4');
  });

  it.each<[string, unknown, string]>([
    ['a number', 42, '42'],
    ['zero', 0, '0'],
    ['false', false, 'false'],
    ['a bigint', 10n ** 20n, '100000000000000000000'],
    ['a Date', new Date(0), '1970-01-01T00%3A00%3A00.000Z'],
    ['an object with a toString of its own', new ObjectId('5f1e'), '5f1e'],
  ])('takes %s', (_, value, part) => {
    expect(resolve('k:<0>', value)).toBe(`k:${part}`);
  });

  it.each([
    [':', '%3A'],
    ['/', '%2F'],
    ['|', '%7C'],
    ['%', '%25'],
    ['<', '%3C'],
    ['>', '%3E'],
    ['{', '%7B'],
    ['}', '%7D'],
    [' ', '%20'],
    ['\n', '%0A'],
    ['\0', '%00'],
    ['\u007f', '%7F'],
    ['\u00a0', '%C2%A0'],
    ['\ud800', '%ED%A0%80'],
    ['\udfff', '%ED%BF%BF'],
  ])('encodes %j in a value as %s', (character, encoded) => {
    expect(resolve('k:<0>', `a${character}b`)).toBe(`k:a${encoded}b`);
  });

  it('tells tuples apart that would be one key if values were not encoded', () => {
    expect(resolve('<0>:<1>', 'a:b', 'c')).not.toBe(resolve('<0>:<1>', 'a', 'b:c'));
    expect(resolve('<0>:<1>', 'a%3Ab', 'c')).not.toBe(resolve('<0>:<1>', 'a:b', 'c'));
  });

  it('does not fill in placeholders that come in with a value', () => {
    expect(resolve('k:<0>:<1>', '<1>', '{0}')).toBe('k:%3C1%3E:%7B0%7D');
  });

  it('can be resolved again and again', () => {
    const template = new KeyTemplate('order:<0>', WHERE);
    expect(template.resolve(['a'])).toBe('order:a');
    expect(template.resolve(['b'])).toBe('order:b');
    expect(template.resolve(['a'])).toBe('order:a');
  });
});

describe('a value that names nothing', () => {
  it.each<[string, string, unknown[], RegExp]>([
    ['an argument that was not given', 'order:<0>', [], /<0> is undefined$/],
    ['undefined', 'order:<0>', [undefined], /<0> is undefined$/],
    ['null', 'order:{0}', [null], /\{0\} is null$/],
    ['an empty string', 'order:<1>', ['a', ''], /<1> is an empty string$/],
    ['a property that is not there', 'order:<0.idd>', [{ id: 1 }], /<0\.idd> is undefined$/],
    ['a property of undefined', '<0.a.b.c>', [{ a: {} }], /<0\.a\.b\.c> is undefined$/],
    ['a property of null', '{0.a.b}', [{ a: null }], /\{0\.a\.b\} is undefined$/],
    ['a property of no argument', '<2.id>', ['a'], /<2\.id> is undefined$/],
    ['a plain object', 'order:<0>', [{ id: 1 }], /<0> is a plain object without a toString/],
    ['an array', 'order:<0>', [['a']], /<0> is an array$/],
    ['an object without a name', '<0>', [new Map()], /<0> is an instance of Map/],
    ['what every object inherits', '<0.__proto__>', [{}], /<0\.__proto__> is a plain object/],
    ['NaN', '<0>', [Number.NaN], /<0> is NaN$/],
    ['Infinity', '<0>', [-Infinity], /<0> is -Infinity$/],
    ['an invalid Date', '<0>', [new Date(Number.NaN)], /<0> is an invalid Date$/],
    ['a symbol', '<0>', [Symbol('s')], /<0> is a symbol$/],
    ['a function', '<0>', [() => 'x'], /<0> is a function$/],
    ['a promise', '<0>', [Promise.resolve('x')], /<0> is a promise that was not awaited/],
    ['bytes', '<0>', [Buffer.from('x')], /<0> is binary data/],
    ['an index beyond all arguments', '<99999999999999999999>', ['a'], /is undefined$/],
  ])('is refused: %s', (_, source, args, why) => {
    const error = errorOf(() => resolve(source, ...args));
    expect(error).toBeInstanceOf(LockKeyError);
    expect(error.message).toMatch(/^OrdersService\.pay: /);
    expect(error.message).toMatch(why);
  });

  it('is named, and what is in it is not told', () => {
    const error = errorOf(() => resolve('a:<0>:<1>', 'fine', { password: 'hunter2' }));
    expect(error.message).toContain('<1>');
    expect(error.message).not.toContain('<0>');
    expect(error.message).not.toContain('hunter2');
  });

  it('does not hide what a getter throws', () => {
    const broken = {
      get id(): string {
        throw new TypeError('lazy loading failed');
      },
    };
    expect(() => resolve('<0.id>', broken)).toThrow(new TypeError('lazy loading failed'));
  });
});

describe('a malformed template', () => {
  it.each([
    ['no argument', 'order:<>', '<> is no placeholder'],
    ['no argument in braces', 'order:{}', '{} is no placeholder'],
    ['a name instead of a number', 'order:<id>', '<id> is no placeholder'],
    ['a property of nothing', 'order:<.id>', '<.id> is no placeholder'],
    ['a dot at its end', 'order:<0.>', '<0.> is no placeholder'],
    ['two dots', 'order:<0..id>', '<0..id> is no placeholder'],
    ['a negative number', 'order:<-1>', '<-1> is no placeholder'],
    ['a blank', 'order:< 0 >', '< 0 > is no placeholder'],
    ['a call', 'order:<0.id()>', '<0.id()> is no placeholder'],
    ['an index in brackets', 'order:<0[1]>', '<0[1]> is no placeholder'],
    ['a character that no name has', 'order:{0.a-b}', '{0.a-b} is no placeholder'],
    ['a line break', 'order:<0\n>', '<0\n> is no placeholder'],
  ])('is refused when its class is loaded: %s', (_, source, why) => {
    const error = errorOf(() => new KeyTemplate(source, WHERE));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(/^OrdersService\.pay: /);
    expect(error.message).toContain(why);
  });

  it.each([
    'order:<0',
    'order:0>',
    'order:{0',
    'order:0}',
    '<0}',
    '{0>',
    '<<0>>',
    '{{0}}',
    '<0>:<',
  ])('is refused for a bracket without its counterpart: %s', (source) => {
    const error = errorOf(() => new KeyTemplate(source, WHERE));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toBe(
      `OrdersService.pay: '${source}' has a bracket without its counterpart`,
    );
  });

  it('is refused when it is empty', () => {
    const error = errorOf(() => new KeyTemplate('', WHERE));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toBe('OrdersService.pay: a key must not be empty');
  });

  it.each(['<0><1>', '<0>-<1>', '<0>%<1>', '{0}.{1}', '<0>%3A<1>', 'x:<0>_{1}:y', '<0>,<0>'])(
    'is refused when values could run into one another (R1): %s',
    (source) => {
      const error = errorOf(() => new KeyTemplate(source, WHERE));
      expect(error).toBeInstanceOf(LockConfigError);
      expect(error.message).toMatch(
        /^OrdersService\.pay: between [<{][01][>}] and [<{][01][>}] in /,
      );
    },
  );

  it('names the two placeholders that run into one another', () => {
    expect(() => new KeyTemplate('<0>:<1.a>-{2}', WHERE)).toThrow(/between <1\.a> and \{2\} in/);
  });

  it.each(['<0>:<1>', '<0>/<1>', '<0>|<1>', '<0> <1>', '<0>\t<1>', '<0>a:b<1>', '<0>\u00a0<1>'])(
    'is not what this is, with a character between that is always encoded (R1): %j',
    (source) => {
      expect(() => new KeyTemplate(source, WHERE)).not.toThrow();
    },
  );
});

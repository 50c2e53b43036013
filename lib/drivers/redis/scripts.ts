import { createHash } from 'node:crypto';

/**
 * A record is one string: a byte for its version, then the time until which the lock is taken, the last token and the
 * time until which it is wanted (doubles, in microseconds), then the owner. A lock that was released is taken until 0 and keeps its owner's
 * bytes; one that is only kept taken has none. Redis forgets a record by itself, a retention after the lease has ended:
 * whether it has ended is told by the record alone.
 */
const VERSION = 1;
/** Where the times stand, for SETRANGE, which counts from 0: as strings, for the server would print numbers. */
const EXPIRES_AT = `'1'`;
const WANTED_AT = `'17'`;
/** Where times and owner begin: for Lua, which counts from 1. */
const TIMES_FROM = 2;
const OWNER_FROM = 26;

/** Locals are found faster than what they stand for. */
const LOCALS = `
local call, pcall, pack, unpack, sub = redis.call, redis.pcall, struct.pack, struct.unpack, string.sub`;

const READ_CLOCK = `local time = call('TIME')
now = time[1] * 1000000 + time[2]`;

const NOW = `
local now
${READ_CLOCK}`;

/** Leaves `record` false where there is none, and `wrong` unlike nil where something else has that name. */
const READ = `
  local record, wrong = pcall('GET', key), nil
  if record and (type(record) == 'table' or #record < ${OWNER_FROM - 1} or string.byte(record) ~= ${VERSION}) then
    record, wrong = false, record.err or 'WRONGTYPE the key holds something else than a lock'
  end`;

const packed = (expires: string, last: string, wanted: string, owner?: string): string =>
  owner === undefined
    ? `pack('<Bddd', ${VERSION}, ${expires}, ${last}, ${wanted})`
    : `pack('<Bdddc0', ${VERSION}, ${expires}, ${last}, ${wanted}, ${owner})`;
const times = `unpack('<ddd', record, ${TIMES_FROM})`;
const ownerOf = `sub(record, ${OWNER_FROM})`;
const millisecondsTo = (time: string): string => `math.ceil((${time} - now) / 1000)`;
const setFree = `call('SETRANGE', key, ${EXPIRES_AT}, '\\0\\0\\0\\0\\0\\0\\0\\0')`;

/** The tokens that follow `last`: they end at the present time or, if that has not passed since, just after it. */
const mintTokens = `
    local stop = now
    if last >= now then stop = last + 1 end
    local tokens = stop - last
    if tokens > asked then tokens = asked end`;

/** A script, and its digest by which the server knows it. */
export class Script {
  readonly source: string;
  readonly digest: string;

  /**
   * @param flags what the server may let it do where it would refuse other scripts; Redis 6 knows no flags
   */
  constructor(body: string, flags?: readonly string[]) {
    this.source = flags === undefined ? body : `#!lua${flagsOf(flags)}\n${body}`;
    this.digest = createHash('sha1').update(this.source).digest('hex');
  }
}

const flagsOf = (flags: readonly string[]): string =>
  flags.length === 0 ? '' : ` flags=${flags.join(',')}`;

/**
 * KEYS are locks; ARGV are ttl (us), tokens asked for, wanted for (us), expiry of the record (ms), then an owner for each key. Answers two
 * values for each: a grant's last token and how many there are; or the time for which it is still taken, negated (ms),
 * and its owner; or 0 and what is wrong.
 */
const acquire = ({ retention }: ScriptSettings): string => `${LOCALS}${NOW}
local ttl, asked, wants, px = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local answer = {}
for i = 1, #KEYS do
  local key, owner = KEYS[i], ARGV[4 + i]${READ}
  local expires, last, wanted = 0, now - 1, 0
  if record then expires, last, wanted = ${times} end
  if wrong then
    answer[2 * i - 1], answer[2 * i] = 0, wrong
  elseif expires <= now then${mintTokens}
    call('SET', key, ${packed('now + ttl', 'stop', '0', 'owner')}, 'PX', px)
    answer[2 * i - 1], answer[2 * i] = stop, tokens
  elseif ${ownerOf} == owner then
    if now + ttl > expires then expires = now + ttl end
    call('SET', key, ${packed('expires', 'last', 'wanted', 'owner')}, 'PX', ${millisecondsTo('expires')} + ${retention})
    answer[2 * i - 1], answer[2 * i] = last, 1
  else
    if wants > 0 and now + wants > wanted then
      call('SETRANGE', key, ${WANTED_AT}, pack('<d', now + wants))
    end
    answer[2 * i - 1], answer[2 * i] = -${millisecondsTo('expires')}, ${ownerOf}
  end
end
return answer`;

/**
 * ARGV are ttl (us), 1 if leases may be shortened, tokens asked for, then an owner for each key. Answers the numbers of the keys that are
 * not their owners'; where tokens are asked for, two values for each key: the last of them and how many, or 0 and 0.
 */
const renew = ({ retention }: ScriptSettings): string => `${LOCALS}${NOW}
local ttl, shorten, asked = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
local answer = {}
for i = 1, #KEYS do
  local key, owner = KEYS[i], ARGV[3 + i]${READ}
  local expires, last, wanted = 0, 0, 0
  if record and ${ownerOf} == owner then expires, last, wanted = ${times} end
  local isOurs = expires > 0
  if asked > 0 then answer[2 * i - 1], answer[2 * i] = 0, 0 end
  if isOurs then
    if shorten or now + ttl > expires then expires = now + ttl end
    if asked > 0 then${mintTokens}
      last = stop
      answer[2 * i - 1], answer[2 * i] = stop, tokens
    end
    call('SET', key, ${packed('expires', 'last', 'wanted', 'owner')}, 'PX', ${millisecondsTo('expires')} + ${retention})
  elseif asked == 0 then
    answer[#answer + 1] = i
  end
end
return answer`;

/**
 * ARGV are how long to keep the keys taken (us), then an owner for each key. Answers two values for each: -1 if it was not the owner's, else
 * for how long others want it (ms); and how many were told. They are told last and without effect on the rest: a script
 * that fails half way is not undone.
 */
const release = ({ retention, publish }: ScriptSettings): string => `${LOCALS}
local retain, now = tonumber(ARGV[1]), nil
local answer = {}
for i = 1, #KEYS do
  local key, owner = KEYS[i], ARGV[1 + i]${READ}
  local expires, last, wanted = 0, 0, 0
  if record and ${ownerOf} == owner then expires, last, wanted = ${times} end
  local wantedFor, told = 0, 0
  if expires == 0 then
    wantedFor = -1
  elseif wanted == 0 and retain == 0 then
    ${setFree}
  else
    ${READ_CLOCK}
    if retain > 0 then
      call('SET', key, ${packed('now + retain', 'last', 'wanted')}, 'PX', math.ceil(retain / 1000) + ${retention})
    else
      ${setFree}
    end
    if wanted > now then
      wantedFor, told = ${millisecondsTo('wanted')}, pcall('${publish}', key, '')
      if type(told) == 'table' then told = 0 end
    end
  end
  answer[2 * i - 1], answer[2 * i] = wantedFor, told
end
return answer`;

/** Answers three values for each key: for how long it is taken (ms, 0 if it is free), its last token and its owner. */
const inspect = (): string => `${LOCALS}${NOW}
local answer = {}
for i = 1, #KEYS do
  local key = KEYS[i]${READ}
  local expires, last = 0, 0
  if record then expires, last = ${times} end
  if expires > now then
    answer[3 * i - 2], answer[3 * i - 1], answer[3 * i] = ${millisecondsTo('expires')}, last, ${ownerOf}
  else
    answer[3 * i - 2], answer[3 * i - 1], answer[3 * i] = 0, 0, ''
  end
end
return answer`;

/** Answers 1 if the lock was taken, else 0. */
const forceRelease = ({ publish }: ScriptSettings): string => `${LOCALS}${NOW}
local key = KEYS[1]${READ}
if wrong then return redis.error_reply(wrong) end
if not record then return 0 end
local expires, last, wanted = ${times}
if expires > 0 then
  ${setFree}
  if wanted > now then pcall('${publish}', key, '') end
end
return expires > now and 1 or 0`;

/**
 * The key is a resource; ARGV are a token, how far it may be ahead of the clock (us), for how long the resource remembers
 * (us), and for how long what it remembers is kept (ms). Where nothing is remembered, a token from before that time may be
 * older than one that was forgotten. Answers the rule that refuses the token or an empty string, and the newest token or 0.
 */
const admit = (): string => `${LOCALS}${NOW}
local key, token = KEYS[1], tonumber(ARGV[1])
local newest = tonumber(call('GET', key) or 0)
if token > now + ARGV[2] then return { 'ahead', newest } end
if token < newest then return { 'older', newest } end
if newest == 0 and token < now - ARGV[3] then return { 'forgotten', 0 } end
call('SET', key, string.format('%.0f', token), 'PX', ARGV[4])
return { '', token }`;

/** Does once all that the others do; answers which command was refused, and why. */
const rehearse = ({ publish }: ScriptSettings): string => `
local key = KEYS[1]
local refused = {}
local function try(name, ...)
  local answer = redis.pcall(name, ...)
  if #refused == 0 and type(answer) == 'table' and answer.err then refused = { name, answer.err } end
end
try('TIME')
try('SET', key, 'x', 'PX', 1000)
try('SETRANGE', key, 0, 'y')
try('GET', key)
try('${publish}', key, '')
return refused`;

/** What the scripts are made for. */
export interface ScriptSettings {
  /** Milliseconds for which a lock that is free is remembered. */
  readonly retention: number;
  /** The command that tells of a release. */
  readonly publish: 'PUBLISH' | 'SPUBLISH';
  /** Whether the server knows flags, as Redis 7 does. */
  readonly knowsFlags: boolean;
}

/** All scripts of the driver. */
export type Scripts = ReturnType<typeof scriptsFor>;

/**
 * The scripts for a server. One that is full refuses scripts that write; with flags a renewal and a release, which take no more memory
 * than there was before, are let through.
 */
export function scriptsFor(settings: ScriptSettings) {
  const { knowsFlags } = settings;
  const plain = knowsFlags ? [] : undefined;
  const onFullServers = knowsFlags ? ['allow-oom'] : undefined;
  const readOnly = knowsFlags ? ['no-writes'] : undefined;
  return {
    acquire: new Script(acquire(settings), plain),
    renew: new Script(renew(settings), onFullServers),
    release: new Script(release(settings), onFullServers),
    inspect: new Script(inspect(), readOnly),
    forceRelease: new Script(forceRelease(settings), onFullServers),
    admit: new Script(admit(), plain),
    rehearse: new Script(rehearse(settings), onFullServers),
  };
}

import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashSlot } from '../../../../lib/drivers/redis/hash-slot.js';

const slotByIoredis = createRequire(import.meta.url)('cluster-key-slot') as (
  key: string | Buffer,
) => number;

/** CRC16 as the Redis cluster specification defines it (XMODEM), bit by bit. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const isOverflow = ((crc >> 15) & 1) !== ((byte >> bit) & 1);
      crc = (crc << 1) & 0xffff;
      crc = isOverflow ? crc ^ 0x1021 : crc;
    }
  }
  return crc;
}

/** The specification of hash tags, by a regular expression: the first `{`, then the first `}` after it. */
function slotByDefinition(key: string): number {
  const tag = /^[^{]*\{([^}]+)\}/s.exec(key)?.[1];
  return crc16(Buffer.from(tag ?? key)) % 16_384;
}

const keys = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('{', '}', 'a', 'ü', '😀', '\n', '\0') }),
);

describe('the slot of a key', () => {
  it.each([
    ['', 0],
    ['123456789', 0x31c3],
    ['foo', 12_182],
    ['bar', 5061],
    ['{user1000}.following', 3443],
    ['{user1000}.followers', 3443],
    ['user1000', 3443],
    ['foo{}{bar}', 8363],
    ['foo{{bar}}zap', 4015],
    ['{bar', 4015],
    ['foo{bar}{zap}', 5061],
  ])('of %j is %i', (key, slot) => {
    expect(hashSlot(key)).toBe(slot);
  });

  it('is that of its tag, unless that is empty or not closed', () => {
    expect(hashSlot('lock:{tenant}:1')).toBe(hashSlot('tenant'));
    for (const key of ['{}', 'a{}b', '}a{', 'a}b', 'a{b', '{}{a}']) {
      expect(hashSlot(key)).toBe(crc16(Buffer.from(key)) % 16_384);
    }
  });

  it('counts the bytes of a character', () => {
    expect(hashSlot('ключ')).toBe(slotByIoredis(Buffer.from('ключ')));
    expect(hashSlot('x{😀}y')).toBe(crc16(Buffer.from('😀')) % 16_384);
  });

  it('is what the specification says, for any key', () => {
    const isRight = fc.property(keys, (key) => {
      expect(hashSlot(key)).toBe(slotByDefinition(key));
    });
    fc.assert(isRight, { numRuns: 2000 });
  });

  it('is what ioredis takes it for, where no tag is empty', () => {
    const withoutEmptyTag = keys.filter((key) => !key.includes('{}'));
    const isTheSame = fc.property(withoutEmptyTag, (key) => {
      expect(hashSlot(key)).toBe(slotByIoredis(Buffer.from(key)));
    });
    fc.assert(isTheSame, { numRuns: 1000 });
  });
});

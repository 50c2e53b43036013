const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) {
    crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  }
  return crc;
});

/** The slot of a Redis cluster that a key belongs to: CRC16 of its hash tag, or of all of it. */
export function hashSlot(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tagOf(key))) {
    crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ byte) & 0xff] as number)) & 0xffff;
  }
  return crc % SLOTS;
}

/** What stands between the first opening brace and the closing one after it, unless that is nothing. */
function tagOf(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

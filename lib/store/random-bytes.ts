/** Random bytes, drawn many at once, because a call of the system costs more than all else that an id takes. None is used twice. */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let drawn = pool.length;

/** Where the bytes begin in the pool. */
function draw(length: number): number {
  if (length > pool.length) throw new RangeError(`At most ${pool.length} bytes are drawn at once.`);
  if (drawn + length > pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  drawn += length;
  return drawn - length;
}

export function drawBytes(length: number): Buffer {
  const start = draw(length);
  return Buffer.from(pool.subarray(start, start + length));
}

/** In base64url. @param length of the bytes, before they are encoded */
export function drawText(length: number): string {
  const start = draw(length);
  return pool.toString('base64url', start, start + length);
}

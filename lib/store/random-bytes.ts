/**
 * Random bytes, drawn from the system in large batches, because a system call costs more than everything else about an id. No byte is used
 * twice.
 */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let drawn = pool.length;

/** Takes bytes from the pool. Returns the offset of the first byte. */
function draw(length: number): number {
  if (length > pool.length) throw new RangeError(`${length} bytes are more than one call draws. Draw at most ${pool.length}.`);
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

/** Returns random bytes in base64url. @param length number of bytes before they are encoded */
export function drawText(length: number): string {
  const start = draw(length);
  return pool.toString('base64url', start, start + length);
}

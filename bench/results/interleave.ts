import { type Load, type LoadSlice, type Participant, prepareLoad } from '../requests/load.js';
import type { Row } from '../requests/row.js';
import { settings } from '../settings.js';

const WARM_UP = 600;

/** Slices of each participant, round by round. */
export type Slices<Name extends string> = Readonly<Partial<Record<Name, readonly LoadSlice[]>>>;

/** Runs a row at each participant in turn, in many short slices, so that a disturbance of the machine affects all participants. */
export async function interleave<Name extends string>(
  row: Row,
  participants: Readonly<Partial<Record<Name, Participant>>>,
): Promise<Slices<Name>> {
  const { rounds, slice } = settings;
  process.stderr.write(`${row.name} …\n`);
  const loads: { readonly load: Load; readonly slices: LoadSlice[] }[] = [];
  const slicesOf: Partial<Record<Name, LoadSlice[]>> = {};
  try {
    for (const [name, participant] of Object.entries(participants) as [Name, Participant][]) {
      const slices: LoadSlice[] = [];
      slicesOf[name] = slices;
      loads.push({ load: await prepareLoad(participant, row), slices });
    }
    for (const { load } of loads) await load.run(Math.min(WARM_UP, slice * rounds));
    for (let round = 0; round < rounds; round += 1) {
      // The order is rotated, and reversed every other time, so that no participant always runs after the same participant.
      const first = round % loads.length;
      const order = [...loads.slice(first), ...loads.slice(0, first)];
      for (const { load, slices } of round % 2 === 0 ? order : order.reverse()) slices.push(await load.run(slice));
    }
  } finally {
    for (const { load } of loads) load.close();
  }
  return slicesOf;
}

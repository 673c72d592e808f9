/**
 * Clock of a process that preloads this file, ahead of the machine's clock by the milliseconds of `SHIFTED_CLOCK`. A message `{ clock }`
 * replaces the milliseconds. Timers and `performance.now()` do not change.
 */
let ahead = Number(process.env.SHIFTED_CLOCK ?? 0);
process.on('message', (message: { readonly clock?: number }) => {
  if (message.clock !== undefined) ahead = message.clock;
});

const MachineDate = Date;
const now = () => MachineDate.now() + ahead;
globalThis.Date = new Proxy(MachineDate, {
  construct: (target, parts, newTarget) => Reflect.construct(target, parts.length === 0 ? [now()] : parts, newTarget),
  apply: () => new MachineDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

/**
 * Preloaded into a process, sets its clock apart from the machine's, as `SHIFTED_CLOCK` says in milliseconds and a message `{ clock }` says anew.
 * Timers and `performance.now()` run as they do.
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

/** The service with all its features, in a separate process that reports its CPU time. `work-of-requests.test.ts` starts the process. */
import { recordedRoutes } from '../recorded-routes.js';
import type { Route } from '../request-grammar.js';

/** Message to the process that started this one. */
export type FromMeasured = { readonly issuer: string; readonly routes: readonly Route[] } | { readonly cpuMs: number };
const tell = (message: FromMeasured) => process.send?.(message);

const { saml } = await import('tenant-idp/extensions/saml');
const { startIdp } = await import('../../service/idp.js');
const { issuer } = await startIdp({
  extensions: [saml()],
  ...(JSON.parse(process.argv[2] ?? '{}') as object),
  mail: { send: async () => {} },
  impersonation: { permission: 'orders.approve' },
  trustProxy: 1,
  limits: { signInFailures: 100, signInFailuresPerAddress: 100_000, adminRequestsPerMinute: 1_000_000 },
});
process.on('disconnect', () => process.exit());
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  tell({ cpuMs: (user + system) / 1000 });
});
tell({ issuer, routes: recordedRoutes() });

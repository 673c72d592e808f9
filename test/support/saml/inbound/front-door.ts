/** Front door for messages of service providers, over HTTP: only this file says which handlers answer at the endpoints. */
import type { Context, Extension, ExtensionContext } from 'tenant-idp/extension';
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import type { Received } from '../../../../extensions/saml/front-door/front-door.js';
import { RefusedMessage } from '../../../../extensions/saml/messages/refused.js';
import { resolveSamlOptions } from '../../../../extensions/saml/options.js';
import { createParts } from '../../../../extensions/saml/parts.js';
import { samlRoutes } from '../../../../extensions/saml/routes.js';
import { type ServiceProviderFields, serviceProviders } from '../../../../extensions/saml/service-providers/records.js';
import { acsOf } from '../../../../extensions/saml/sso/acs.js';
import { fromEverywhere } from '../../client/addresses.js';

export type Outcome =
  | {
      readonly reason: string;
      readonly status: number;
      readonly place?: string;
      readonly serviceProviderId?: string;
      readonly message: string;
    }
  | (Pick<Received, 'binding' | 'relayState' | 'isSigned'> & {
      readonly serviceProviderId: string;
      // biome-ignore lint/suspicious/noExplicitAny: whatever kind it is
      readonly message: any;
      readonly acs?: { readonly url: string; readonly index: number };
    });

/** A row of a service provider, and its owner. */
export interface Registered {
  readonly id: string;
  /** Default: the instance. */
  readonly tid?: string;
  readonly fields: Partial<ServiceProviderFields> & Pick<ServiceProviderFields, 'entityId'>;
}

const rowOf = (fields: Registered['fields']): ServiceProviderFields =>
  ({
    name: 'Wiki',
    status: 'active',
    assertionConsumerServices: [{ url: `${fields.entityId}/acs`, index: 0 }],
    singleLogoutServices: [],
    signingCertificates: [],
    requireSignedRequests: true,
    encryption: 'none',
    signAssertion: true,
    signResponse: false,
    nameId: { format: 'persistent' },
    attributes: [],
    requireMfa: false,
    idpInitiated: { isAllowed: false },
    impersonation: 'refuse',
    createdAt: new Date().toISOString(),
    updatedAt: new Date().toISOString(),
    ...fields,
  }) as ServiceProviderFields;

async function register({ records: { collection, ofInstance } }: ExtensionContext, { id, tid, fields }: Registered): Promise<void> {
  try {
    await collection(serviceProviders, tid ?? ofInstance).insert(rowOf(fields), { id });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'conflict') throw error;
  }
}

/** Returns an extension that registers service providers when it starts, with the same ids on each node. */
export const withServiceProviders = (extension: Extension, registered: () => readonly Registered[]): Extension => ({
  ...extension,
  start: async (context) => {
    await extension.start?.(context);
    for (const row of registered()) await register(context, row);
  },
});

/** Header with the reason, for tests alone. The page says the reason, and the log has the details. */
const REFUSED = 'x-refused';

/**
 * Returns the SAML extension with its routes and pages. A handler that would continue with an accepted message shows the message in JSON.
 * @param registered is asked when the service starts
 */
export function receivingExtension(options: SamlOptions, registered: () => readonly Registered[]): Extension {
  return {
    ...withServiceProviders(saml(options), registered),
    routes(router, context) {
      const parts = createParts(context, resolveSamlOptions(options));
      const noting =
        <Arguments extends [Context, ...unknown[]], Result>(run: (...given: Arguments) => Promise<Result>) =>
        async (...given: Arguments): Promise<Result> => {
          try {
            return await run(...given);
          } catch (error) {
            if (error instanceof RefusedMessage) given[0].set(REFUSED, JSON.stringify({ ...error, message: error.message }));
            throw error;
          }
        };
      const show = noting(async (ctx: Context, received: Received) => {
        ctx.body = outcomeOf(received);
      });
      samlRoutes(router, {
        ...parts,
        frontDoor: { receive: noting(parts.frontDoor.receive) },
        signInStart: { ...parts.signInStart, requested: (ctx, _entity, received) => show(ctx, received) },
        incoming: { requested: show, run: (ctx) => parts.incoming.run(ctx), done: (ctx) => parts.incoming.done(ctx) },
        outgoing: { ...parts.outgoing, answered: show },
      });
    },
  };
}

function outcomeOf({ message, serviceProvider, ...received }: Received): Outcome {
  const acs = message.kind === 'AuthnRequest' ? { acs: acsOf(serviceProvider, message) } : {};
  return { ...received, message, serviceProviderId: serviceProvider.id, ...acs };
}

/** Returns the outcome of an answer: the reason on its page, or the received message. */
export function outcomeIn(status: number, refused: string | null | undefined, body: string): Outcome {
  if (status === 200) return JSON.parse(body) as Outcome;
  const outcome = JSON.parse(refused ?? '{}') as { readonly reason?: string; readonly status?: number };
  if (outcome.reason === undefined || outcome.status !== status || !body.includes(outcome.reason))
    throw new Error(`${status}, and no page about ${refused}: ${body.slice(0, 500)}`);
  return outcome as Outcome;
}

const readOutcome = async (answer: Response): Promise<Outcome> =>
  outcomeIn(answer.status, answer.headers.get(REFUSED), await answer.text());

/** Endpoints of the instance, or of a tenant. */
export const endpointsOf = (issuer: string, tid?: string) => {
  const base = `${issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}`;
  return { sso: `${base}/sso`, slo: `${base}/slo` };
};

const newAddress = fromEverywhere();

/** Sends a query as it is. */
export const sendRedirect = async (endpoint: string, query: string): Promise<Outcome> => readOutcome(await fetch(`${endpoint}?${query}`));

/** Posts a form; a text is sent as it is. @param address of the sender. Default: a new one. */
export const sendPost = async (
  endpoint: string,
  fields: Readonly<Record<string, string>> | string,
  address = newAddress(),
): Promise<Outcome> =>
  readOutcome(
    await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
      body: typeof fields === 'string' ? fields : String(new URLSearchParams(fields)),
    }),
  );

/** Returns the reason of a refusal, or `accepted`. */
export const reasonOf = (outcome: Outcome): string => ('reason' in outcome ? outcome.reason : 'accepted');

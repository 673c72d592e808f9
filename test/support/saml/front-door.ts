/**
 * The front door for messages of service providers, over HTTP.
 *
 * This is the one place that says what answers at the endpoints: an extension that shows what was received, in JSON, and why something was refused.
 */
import type { Context, Extension, ExtensionContext } from 'tenant-idp/extension';
import { createEntities, type Entity } from '../../../extensions/saml/entities/entity.js';
import { acsOf } from '../../../extensions/saml/messages/acs.js';
import { createFrontDoor, type FrontDoorParts, type Received } from '../../../extensions/saml/messages/front-door.js';
import { RefusedMessage } from '../../../extensions/saml/messages/refused.js';
import { seen } from '../../../extensions/saml/messages/replay.js';
import { createServiceProviderBook } from '../../../extensions/saml/service-providers/book.js';
import { type ServiceProviderFields, serviceProviders } from '../../../extensions/saml/service-providers/records.js';
import { fromEverywhere } from '../client/addresses.js';

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

/** A row, and whose it is. */
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

async function register({ collection, ofInstance }: ExtensionContext, { id, tid, fields }: Registered): Promise<void> {
  try {
    await collection(serviceProviders, tid ?? ofInstance).insert(rowOf(fields), { id });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'conflict') throw error;
  }
}

/** The SAML extension as far as it receives messages. @param registered is asked when the service starts */
export function receivingExtension(registered: () => readonly Registered[], parts: Omit<FrontDoorParts, 'book'> = {}): Extension {
  return {
    name: 'saml',
    collections: [serviceProviders],
    artifacts: [seen],
    start: async (context) => {
      for (const row of registered()) await register(context, row);
    },
    routes(router, context) {
      const door = createFrontDoor(context, { ...parts, book: createServiceProviderBook(context) });
      const entities = createEntities(context);
      const answer = async (ctx: Context, entity: Entity, kinds: Parameters<typeof door.receive>[2]) => {
        const received = door.receive(ctx, entity, kinds).then(outcomeOf);
        ctx.body = await received.catch((error: unknown) => {
          if (!(error instanceof RefusedMessage)) throw error;
          const { reason, status, place, serviceProviderId, message } = error;
          ctx.status = status;
          return { reason, status, place, serviceProviderId, message };
        });
      };
      for (const base of [`${context.own}/saml`, `${context.own}/saml/t/:tid`]) {
        const entityOf = (ctx: Context) => entities.of(ctx.params.tid ?? context.ofInstance);
        router.all(`${base}/sso`, (ctx: Context) => answer(ctx, entityOf(ctx), ['AuthnRequest']));
        router.all(`${base}/slo`, (ctx: Context) => answer(ctx, entityOf(ctx), ['LogoutRequest', 'LogoutResponse']));
      }
    },
  };
}

function outcomeOf({ message, serviceProvider, ...received }: Received): Outcome {
  const acs = message.kind === 'AuthnRequest' ? { acs: acsOf(serviceProvider, message) } : {};
  return { ...received, message, serviceProviderId: serviceProvider.id, ...acs };
}

/** What became of an HTTP answer. */
const readOutcome = async (answer: Response): Promise<Outcome> => {
  const text = await answer.text();
  if (answer.status !== 200 && answer.status !== 400 && answer.status !== 429) throw new Error(`${answer.status} ${text.slice(0, 200)}`);
  return JSON.parse(text) as Outcome;
};

/** Endpoints of the instance, or of a tenant. */
export const endpointsOf = (issuer: string, tid?: string) => {
  const base = `${issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}`;
  return { sso: `${base}/sso`, slo: `${base}/slo` };
};

const newAddress = fromEverywhere();

/** Sends a query as it is. */
export const sendRedirect = async (endpoint: string, query: string): Promise<Outcome> => readOutcome(await fetch(`${endpoint}?${query}`));

/** Posts a form; a text is sent as it is. @param address whose it is. Default: a new one. */
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

/** Why it was refused, or `accepted`. */
export const reasonOf = (outcome: Outcome): string => ('reason' in outcome ? outcome.reason : 'accepted');

/** Ways to send an authorization request. */
import type { Agent, Answer } from './agent.js';
import { credentialsOf } from './endpoints.js';
import type { SigningClient } from './request-objects.js';
import { jsonOf, send } from './send.js';

export type Parameters = readonly (readonly [name: string, value: string])[];

export const ways = ['GET', 'POST', 'PAR', 'request', 'pushed request', 'beside a request'] as const;
export type Way = (typeof ways)[number];

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const encoded = (parameters: Parameters): string => new URLSearchParams(parameters as [string, string][]).toString();

/** Returns parameters as members of a JWT. A repeated parameter is a list. */
function membersOf(parameters: Parameters): Record<string, string | string[]> {
  const members = new Map<string, string[]>();
  for (const [name, value] of parameters) members.set(name, [...(members.get(name) ?? []), value]);
  return Object.fromEntries([...members].map(([name, values]) => [name, values.length === 1 ? String(values[0]) : values]));
}

/** Sends a request of the client with `protocol` and `custom` parameters. One way sends custom parameters outside the request object. */
export async function sendBy(
  way: Way,
  { issuer, client, agent }: { readonly issuer: string; readonly client: SigningClient; readonly agent: Agent },
  protocol: Readonly<Record<string, string>>,
  custom: Parameters = [],
): Promise<Answer> {
  const endpoint = `${issuer}/connect/authorize`;
  const all: Parameters = [...Object.entries({ client_id: client.id, ...protocol }), ...custom];
  const get = (query: Parameters) => agent.get(`${endpoint}?${encoded(query)}`);
  const push = async (form: Parameters) => {
    const init = { method: 'POST', headers: { ...formType, ...credentialsOf(client.id) }, body: encoded(form) };
    const { request_uri: uri = '' } = jsonOf((await send(`${issuer}/connect/par`, init)).text) as { request_uri?: string };
    return get([
      ['client_id', client.id],
      ['request_uri', uri],
    ]);
  };
  const signed = async (members: Readonly<Record<string, unknown>>, header = {}): Promise<Parameters> => [
    ['client_id', client.id],
    ['request', await client.sign(issuer, members, header)],
  ];
  if (way === 'GET') return get(all);
  if (way === 'POST') return agent.request(endpoint, { method: 'POST', headers: formType, body: encoded(all) });
  if (way === 'PAR') return push(all);
  if (way === 'request') return get(await signed(membersOf(all)));
  if (way === 'pushed request') return push(await signed(membersOf(all)));
  return get([...(await signed({ ...protocol, cart: undefined }, { typ: 'JWT' })), ...custom]);
}

/** A seed with operators, and browsers in which operators impersonate users through the pages. */

import { decodeJwt } from 'jose';
import type { IdentityProviderOptions } from 'tenant-idp';
import { present } from '../../../lib/present.js';
import { type Agent, type Answer, authorizeUrl, Agent as Browser, createPkce, type Json, signIn } from '../client/agent.js';
import { isSignInPage, membersOf } from '../client/authorization-response.js';
import { redeem } from '../client/steps.js';
import { testSeed } from '../service/seed.js';

type Parameters = Record<string, string>;

export const permission = 'support.act-as';

const person = (name: string, tenant: string, user: object = {}) => ({
  givenName: name.slice(0, 1).toUpperCase() + name.slice(1),
  familyName: 'Test',
  email: `${name}@${tenant}.test`,
  user: { userName: `${name}@${tenant}.test`, emailVerified: true, devPassword: name, ...user },
});
/** Returns an account of Globex that may impersonate. The account is linked to an account of Acme. */
const linked = (name: string) => ({
  ...person(name, 'globex'),
  user: { userName: `${name}@globex.test`, groups: ['Support'], linkedTo: { userName: `${name}@acme.test`, tenant: 'Acme' } },
});
const [acme, globex] = testSeed.tenants as [(typeof testSeed.tenants)[0], (typeof testSeed.tenants)[1]];

/**
 * Seed with operators. Otto is support of Acme only. Olga's account in Acme is not support, but her linked account in Globex is. The person
 * `both` is support of both tenants.
 */
export const operatorSeed = {
  ...testSeed,
  permissions: [...testSeed.permissions, { id: permission, name: 'Act as others' }, { id: 'idp.users:read', name: 'Read users' }],
  tenants: [
    {
      ...acme,
      groups: [
        ...(acme.groups ?? []),
        { name: 'Support', permissions: [permission] },
        { name: 'Administrators', permissions: ['idp.users:read'] },
      ],
      persons: [
        ...acme.persons,
        person('otto', 'acme', { groups: ['Support'] }),
        person('second', 'acme', { groups: ['Support'] }),
        person('admin', 'acme', { groups: ['Administrators'] }),
        person('olga', 'acme'),
        person('both', 'acme', { groups: ['Support'] }),
      ],
    },
    {
      ...globex,
      groups: [{ name: 'Support', permissions: [permission] }],
      persons: [...globex.persons, linked('olga'), linked('both')],
    },
  ],
} satisfies IdentityProviderOptions['seed'];

export const operatorOptions = { impersonation: { permission }, seed: operatorSeed } satisfies Partial<IdentityProviderOptions>;

/** Returns the text of a page. */
export const textOf = ({ body }: Pick<Answer, 'body'>): string =>
  body
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');

/** Returns the value of the button that has this text. */
export function valueFor({ body }: Pick<Answer, 'body'>, about: string): string | undefined {
  for (const [tag] of body.matchAll(/<button\b[^>]*name="choose"[^>]*>[\s\S]*?<\/button>/g))
    if (tag.includes(about)) return /value="([^"]*)"/.exec(tag)?.[1];
  return undefined;
}

export interface Served {
  readonly issuer: string;
}

export function impersonatingAt({ issuer }: Served) {
  const pkce = createPkce();
  const url = (parameters: Parameters = {}): string =>
    authorizeUrl(issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });

  /** Returns the first page that an operator sees. Signs the operator in if necessary. */
  async function chooser(
    operator = 'otto@acme.test',
    parameters: Parameters = {},
    agent: Agent = new Browser(),
  ): Promise<{ agent: Agent; page: Answer }> {
    const asked = url({ acr_values: 'impersonate', ...parameters });
    const first = await agent.follow(await agent.get(asked));
    const page = isSignInPage(first) ? await signIn(agent, asked, operator, operator.split('@')[0]) : first;
    return { agent, page };
  }

  /** Chooses the user, and returns the page that requires a reason. */
  async function choose(agent: Agent, page: Answer, target: string): Promise<Answer> {
    const found = await agent.submit(page, { step: 'who', query: target });
    const choice = valueFor(found, target);
    if (choice === undefined) throw new Error(`${target} is not on the page: ${textOf(found)}`);
    return agent.submit(found, { choose: choice });
  }

  return {
    url,
    chooser,
    choose,
    /** Starts an impersonation. Returns the operator's browser and the answer. */
    async act(
      target: string,
      { operator, agent, ...more }: { operator?: string; agent?: Agent; reason?: string; minutes?: string; parameters?: Parameters } = {},
    ) {
      const { agent: browser, page } = await chooser(operator, more.parameters, agent);
      const why = await choose(browser, page, target);
      const { reason = 'Ticket 4711', minutes } = more;
      const response = await browser.follow(await browser.submit(why, { step: 'start', reason, ...present({ minutes }) }));
      return { agent: browser, response };
    },
    silently: (agent: Agent, parameters: Parameters = {}): Promise<Answer> => agent.get(url({ prompt: 'none', ...parameters })),
    async redeem(response: Answer, client = 'web'): Promise<Json> {
      return (await redeem(issuer, { client, code: membersOf(response).code ?? '', verifier: pkce.verifier })).json;
    },
    /** Returns the user of the browser: the ID token of a request that shows no page. */
    async now(agent: Agent) {
      const response = await this.silently(agent);
      const { error } = membersOf(response);
      return error === undefined ? decodeJwt((await this.redeem(response)).id_token) : { error };
    },
    end: async (agent: Agent): Promise<Answer> => agent.submit(await agent.get(`${issuer}/idp/impersonation`), {}),
  };
}

/** Requests of scope introspection, and users to ask about. */
import type { Json } from '../../support/client/agent.js';
import { credentialsOf } from '../../support/client/endpoints.js';
import type { IdpInUse } from '../../support/service/use-idp.js';

export const path = '/connect/scope/introspect';
export const everyScope = 'openid profile email phone org roles perms address';

export interface Person {
  readonly oid: string;
  readonly tid: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

export const askingAt = (service: IdpInUse) => ({
  async personOf(userName: string): Promise<Person> {
    const [account] = await service.idp.directory.accounts.candidates(userName);
    if (!account) throw new Error(`no ${userName}`);
    return { oid: account.person.user.id, tid: account.tenant.id };
  },
  /** Asks by GET, with the parameters in the query and the credentials in a header. */
  async ask(parameters: Record<string, string>, caller = 'orders', headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${service.issuer}${path}?${new URLSearchParams(parameters)}`, {
      headers: { ...credentialsOf(caller), ...headers },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: text === '' ? undefined : JSON.parse(text) };
  },
});

/** Requests that @node-saml/node-saml cannot make: unsigned, by Redirect. */
import type { Agent, Answer } from '../../client/agent.js';
import { authnRequest, newId, redirectQuery } from '../inbound/sent-messages.js';
import type { RegisteredServiceProvider } from '../service/use-saml-service.js';
import type { TestServiceProvider } from './node-saml.js';
import { statusCodesOf } from './node-saml.js';
import { hasMessage, messageIn, travel } from './travel.js';

export interface Asked {
  readonly id?: string;
  /** More attributes of the request. */
  readonly attributes?: string;
  /** Body of the request. */
  readonly body?: string;
  readonly relayState?: string;
}

/** Returns the URL of an unsigned request. */
export function requestUrl(
  { idp, entityId }: Pick<RegisteredServiceProvider, 'idp' | 'entityId'>,
  { id = newId(), attributes = '', body = '', relayState }: Asked = {},
): string {
  const xml = authnRequest({ id, issuer: entityId, destination: idp.ssoUrl, attributes, body });
  return `${idp.ssoUrl}?${redirectQuery(xml, relayState === undefined ? {} : { relayState })}`;
}

/** Whether the answer posts a message to the service provider. */
export const isFor =
  ({ acsUrl }: Pick<TestServiceProvider, 'acsUrl'>) =>
  (answer: Answer): boolean =>
    hasMessage(answer) && answer.body.includes(`action="${acsUrl}`);

/** Returns the status codes that the service provider gets, the outer first. */
export async function statusFrom(agent: Agent, sp: Pick<TestServiceProvider, 'acsUrl'>, from: Answer | string): Promise<readonly string[]> {
  const answer = await travel(agent, from, isFor(sp));
  return statusCodesOf(messageIn(answer)?.xml ?? '');
}

/** Checks of the parameters of an authentication request. @see service specification 4.10, CIBA Core §7.1 */

import type { GrantRefusal } from '../../lib/extension-door.js';
import { parseAcrValues, present } from '../../lib/extension-door.js';
import { isPresentable, MAX_MESSAGE_CHARACTERS } from './person/binding-message.js';
import type { Asked } from './requests/record.js';

export const parameterNames = [
  'scope',
  'acr_values',
  'login_hint',
  'login_hint_token',
  'id_token_hint',
  'binding_message',
  'requested_expiry',
  'ui_locales',
  'client_notification_token',
  'eid_user_visible_data_format',
  'eid_call_initiator',
] as const;

type Name = (typeof parameterNames)[number];
export type Parameters = Readonly<Partial<Record<Name, string>>>;

export type Hint = { readonly name: 'login_hint' | 'login_hint_token' | 'id_token_hint'; readonly value: string };

/** The checked parameters of a request. The account is found later, because the account takes a look-up. */
export interface Checked {
  readonly asked: Omit<Asked, 'oid' | 'tid' | 'clientId'>;
  readonly hint: Hint;
  /** Requested lifetime of the request, in seconds. */
  readonly requestedExpiry?: number;
  /** The token by which the service authenticates to a client that is notified. */
  readonly notificationToken?: string;
}

const LOCALES_LENGTH = 256;
const TOKEN_LENGTH = 1024;

/** @see RFC 6750 §2.1 */
const bearer = /^[\w.~+/-]+=*$/;
/** @see CIBA Core §7.1 */
const positive = /^[1-9]\d{0,14}$/;

const invalid = (description: string): GrantRefusal => ({ error: 'invalid_request', description });

export function checkParameters(parameters: Parameters, isPing: boolean): Checked | GrantRefusal {
  const { scope = '', acr_values: acrValues, binding_message: message, requested_expiry: expiry, ui_locales: uiLocales } = parameters;
  const { eid_user_visible_data_format: format = 'plaintext', eid_call_initiator: initiator = 'user' } = parameters;
  const scopes = [...new Set(scope.split(' ').filter(Boolean))];
  if (!scopes.includes('openid')) return invalid("'scope' has no openid. Add it.");
  if (parseAcrValues(acrValues).impersonate !== false)
    return invalid('acr_values asks for an impersonation, which can only begin in a browser. Leave impersonate out.');
  const hint = hintIn(parameters);
  if ('error' in hint) return hint;
  if (format !== 'plaintext' && format !== 'simpleMarkdownV1')
    return invalid("'eid_user_visible_data_format' is unknown. Send plaintext or simpleMarkdownV1.");
  if (initiator !== 'user' && initiator !== 'RP') return invalid("'eid_call_initiator' is unknown. Send user or RP.");
  if (message !== undefined && !isPresentable(message, format))
    return {
      error: 'invalid_binding_message',
      description: `'binding_message' cannot be shown. Send at most ${MAX_MESSAGE_CHARACTERS} characters, none of which is invisible or changes the direction of text.`,
    };
  if (expiry !== undefined && !positive.test(expiry))
    return invalid("'requested_expiry' is not a number of seconds. Send a whole number, 1 or more.");
  if ((uiLocales?.length ?? 0) > LOCALES_LENGTH) return invalid(`'ui_locales' is too long. Send at most ${LOCALES_LENGTH} characters.`);
  const token = isPing ? parameters.client_notification_token : undefined;
  if (isPing && token === undefined) return invalid("missing required parameter 'client_notification_token'");
  if (token !== undefined && !(token.length <= TOKEN_LENGTH && bearer.test(token)))
    return invalid(`'client_notification_token' is not a bearer token. Send one of at most ${TOKEN_LENGTH} characters.`);
  return {
    asked: {
      scopes,
      messageFormat: format,
      initiator,
      ...present({ acrValues, bindingMessage: message, uiLocales }),
    },
    hint,
    ...(expiry === undefined ? {} : { requestedExpiry: Number(expiry) }),
    ...present({ notificationToken: token }),
  };
}

function hintIn(parameters: Parameters): Hint | GrantRefusal {
  const names = ['login_hint', 'login_hint_token', 'id_token_hint'] as const;
  const found = names.flatMap((name) => {
    const value = parameters[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const [hint, ...others] = found;
  return hint && others.length === 0
    ? hint
    : invalid('There is no hint, or more than one. Send exactly one of login_hint, login_hint_token and id_token_hint.');
}

/** Each parameter of an authentication request is sorted: by a kind of text, a rule that refuses invisible characters, or a reason. */
import { describe, expect, test } from '@jest/globals';
import { parameterNames } from '../../extensions/ciba/parameters.js';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';

const endpoint = 'https://bank.example/ping';
const service = useCallCentre({
  limits: { authenticationRequestsPerMinute: 100_000 },
  seed: withClients(
    cibaClient('desk'),
    cibaClient('bank', {
      metadata: { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: endpoint },
    }),
  ),
});
const calls = () => callsTo(service);

type Name = (typeof parameterNames)[number];
/** The errors for a parameter with an invisible character. */
const refused: Partial<Record<Name, string>> = {
  scope: 'invalid_scope',
  binding_message: 'invalid_binding_message',
  login_hint_token: 'invalid_request',
  id_token_hint: 'invalid_request',
  requested_expiry: 'invalid_request',
  client_notification_token: 'invalid_request',
  eid_user_visible_data_format: 'invalid_request',
  eid_call_initiator: 'invalid_request',
};
/** Parameters that accept invisible characters, each with the reason. */
const others: Partial<Record<Name, string>> = {
  login_hint: 'is compared with what is stored, without characters that nobody sees',
  acr_values: 'is parsed, compared, and never shown',
  ui_locales: 'chooses among the languages of the pages, and is never shown',
};
const valid: Partial<Record<Name, string>> = {
  scope: 'openid',
  login_hint: 'alice@acme.test',
  binding_message: 'W4SCT',
  requested_expiry: '60',
  client_notification_token: 'token',
  eid_user_visible_data_format: 'plaintext',
  eid_call_initiator: 'user',
  login_hint_token: 'a.b.c',
  id_token_hint: 'a.b.c',
};
const bad = ['\u202e', '\u200b', '\u0085', '\u2028', '\ufffd', '\u00ad', '\ufeff', '\u{e0041}', '\u3164', '\0', '\u007f'];

test('all are sorted', () => {
  expect([...Object.keys(refused), ...Object.keys(others)].sort()).toEqual([...parameterNames].sort());
});

describe.each(Object.entries(refused))('%s', (name, error) => {
  test.each(['at the beginning', 'inside', 'at the end'])('is refused with a character that nobody sees %s', async (where) => {
    const text = valid[name as Name] ?? '';
    const at = { 'at the beginning': 0, inside: 1, 'at the end': text.length }[where];
    for (const character of bad) {
      const hint = name.endsWith('_hint') || name === 'login_hint_token' ? {} : { login_hint: 'alice@acme.test' };
      const fields = { scope: 'openid', client_notification_token: 'token', ...hint };
      const { status, json } = await calls().ask({ ...fields, [name]: text.slice(0, at) + character + text.slice(at) }, 'bank');
      expect([name, character, status, json.error]).toEqual([name, character, 400, error]);
      expect(String(json.error_description)).toMatch(/^[ !#-[\]-~]*$/);
    }
  });
});

test('the others are kept, and none is shown', async () => {
  const characters = bad.filter((character) => character !== '\0').join('');
  const odd = { acr_values: `x${characters}`, ui_locales: `nb ${characters}` };
  const answer = await calls().ask({ login_hint: `\u202aalice\u200b@acme.test\u00a0`, ...odd });
  expect([answer.status, answer.json.error]).toEqual([200, undefined]);
  expect(await calls().newestOf('alice@acme.test')).toMatchObject({ acrValues: odd.acr_values, uiLocales: odd.ui_locales });
});

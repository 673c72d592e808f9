/** Every text about a failure says what happened and what to do, and none says “try again” where that never helps. The lists are those of the code. */
import { expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import { standardExtensions } from '../../extensions/index.js';
import { catalogues } from '../../extensions/sign-in/texts/index.js';
import { findSeedFormProblems } from '../../lib/directory/seed/schema.js';
import { ConfigError, errorTable } from '../../lib/errors.js';

const extensions = [...standardExtensions(), saml()];
const errors = Object.entries({ ...errorTable, ...Object.assign({}, ...extensions.map(({ errorCodes }) => errorCodes)) }) as [
  string,
  { readonly status: number; readonly description: string },
][];

/** Errors that say what a caller may do by saying what there is. */
const selfExplaining: ReadonlySet<string> = new Set(['method_not_allowed', 'key_not_announced']);

test('each code of an error says what is wrong, and then what to do', () => {
  expect(errors.length).toBeGreaterThan(60);
  const bare = errors.filter(([code, { description }]) => !selfExplaining.has(code) && !/\w[:;.] \S.{8,}\.$/.test(description));
  expect(bare.map(([code, { description }]) => `${code}: ${description}`)).toEqual([]);
});

test('each code of an error is a sentence that ends', () => {
  expect(errors.filter(([, { description }]) => !/^[A-Z`][^"\\]*\.$/.test(description)).map(([code]) => code)).toEqual([]);
});

test('“try again” and “send it again” are said of errors that pass: 429, 503 and a request under way', () => {
  const again = errors.filter(([, { description }]) => /\b(?:try|send it) again\b/i.test(description));
  expect(
    again.filter(([code, { status }]) => ![429, 503].includes(status) && code !== 'idempotency_in_progress').map(([code]) => code),
  ).toEqual([]);
});

test('ConfigError says that the service does not start, what is wrong, where, and what is expected', () => {
  const { message } = new ConfigError('invalid_options', [{ path: 'issuer', expected: 'an https URL', received: "'http://a.test'" }]);
  expect(message).toMatch(
    /^The options .* does not start: correct each member that is named\. \[invalid_options\]\n {2}issuer: expected an https URL, got 'http:\/\/a\.test'$/,
  );
});

test('no problem of a seed says “expected” itself, because the message does', () => {
  const problems = findSeedFormProblems({ mode: 'x', tenants: [{ name: 5 }], clients: [{ id: 'a', status: 'off', requirePkce: 'no' }] });
  expect(problems.map(({ path, expected }) => [path, expected])).toEqual([
    ['seed.mode', "'create' or 'update'"],
    ['seed.tenants[0].name', expect.not.stringMatching(/^expected/i)],
    ['seed.clients[0].name', 'a value, which is required'],
    ...problems.slice(3).map(({ path }) => [path, expect.not.stringMatching(/^expected/i)]),
  ]);
});

const english: Record<string, string> = Object.assign({}, catalogues.en, ...extensions.map(({ texts }) => texts?.en));

/** Texts that say “try again”, and why it helps: something passes, the person does something else, or there is another way out in the same text. */
const passing: Readonly<Record<string, string>> = {
  'attempts.exceeded': 'a limit ends',
  busy: 'the queue ends',
  'unavailable.message': 'the store comes back',
  'sign-in.check.hint': 'a mail is late',
  'sign-in.confirm.busy': 'the queue ends',
  'sign-in.confirm.often': 'a limit ends',
  'account.again': 'a button',
  'connections.again': 'a button',
  'connections.failed.text': 'the provider comes back, else the administrator',
  'connections.mixUp.text': 'a new answer, else the administrator',
  'connections.over.text': 'a new answer',
  'connections.own.foreign': 'a new form',
  'factors.foreign': 'a new form',
  'factors.challenge.often': 'a limit ends',
  'factors.passkey.wrong': 'the authenticator was not ready, else another way',
  'factors.signIn.again': 'a button',
  'impersonation.foreign': 'a new form',
  'invitations.accept.again': 'another request was at work',
  'invitations.accept.busy': 'the queue ends',
  'invitations.create.often': 'a limit ends',
  'invitations.unavailable.text': 'the policy changes, else the tenant',
  'linked.foreign': 'a new form',
  'passwords.often': 'a limit ends',
  'passwords.tooOften.title': 'a limit ends',
  'passwords.busy': 'the queue ends',
  'passwords.sent.hint': 'a mail is late',
};

test('each text of a page that says “try again” is one for which it helps', () => {
  const again = Object.entries(english).filter(([, text]) => /\btry again\b/i.test(text));
  expect(again.map(([key, text]) => `${key}: ${text}`).filter((line) => !Object.hasOwn(passing, line.split(':')[0] ?? ''))).toEqual([]);
});

/** A page about a failure: its title says what happened, and its text more than that. */
const failures = Object.keys(english).filter((key) =>
  /^(?:error\.message|expired\.message|unavailable\.message|wrongLink\.message|noCookies\.message|underWay\.message)$|^connections\.(?:failed|mixUp|over|unknown|wrongTenant|unverified|taken|unconfirmed|unavailable|lost)\.text$|^saml\.(?:refused|expired|notSignedIn)\.text$|^passwords\.(?:unavailable|unconfirmed|addressTaken|stopped|unknown|foreign|lost)\.text$|^invitations\.(?:unknown|revoked|replaced|expired|unconfirmed|unavailable|foreign|lost)\.text$|^sign-in\.(?:closed|over|unknown|foreign|exists)\.text$|^linked\.lost\.text$|^ciba\.(?:expired|lost)\.text$/.test(
    key,
  ),
);
const action =
  /\b(?:ask|tell|start again|try again|open|choose|use|verify|check|look|sign in|create|allow|give|nothing was (?:changed|lost)|tell)\b/i;

test('each page about a failure says what to do, or that nothing was changed', () => {
  expect(failures.length).toBeGreaterThan(35);
  expect(failures.filter((key) => !action.test(english[key] ?? '')).map((key) => `${key}: ${english[key]}`)).toEqual([]);
});

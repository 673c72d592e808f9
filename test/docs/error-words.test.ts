/**
 * Every text about a failure says what happened and what to do, and none says “try again” where a retry never helps. The lists come from
 * the code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { saml } from 'tenant-idp/extensions/saml';
import ts from 'typescript';
import { standardExtensions } from '../../extensions/index.js';
import { catalogues } from '../../extensions/sign-in/texts/index.js';
import { findSeedFormProblems } from '../../lib/directory/seed/schema.js';
import { ConfigError, errorTable } from '../../lib/errors.js';
import { phrasesIn } from './phrases.js';

const extensions = [...standardExtensions(), saml()];
const errors = Object.entries({ ...errorTable, ...Object.assign({}, ...extensions.map(({ errorCodes }) => errorCodes)) }) as [
  string,
  { readonly status: number; readonly description: string },
][];

/** Returns the description without code. In the rest, a colon joins no sentences. */
const proseOf = (description: string): string => description.replaceAll(/`[^`]*`/g, '`code`');

test('each code of an error has two sentences: what is wrong, and what to do', () => {
  expect(errors.length).toBeGreaterThan(60);
  const odd = errors.filter(([, { description }]) => !/^[A-Z][^.:;]{8,}\. [A-Z][^.:;]{8,}\.$/.test(proseOf(description)));
  expect(odd.map(([code, { description }]) => `${code}: ${description}`)).toEqual([]);
});

test('each code of an error has a description that OAuth can carry: RFC 6749 §5.2', () => {
  expect(errors.filter(([, { description }]) => /[^\x20-\x7e]|["\\]/.test(description)).map(([code]) => code)).toEqual([]);
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
    /^The options .* does not start\. Correct each member that is named\. \[invalid_options\]\n {2}issuer: expected an https URL, got 'http:\/\/a\.test'$/,
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

/** Errors of oidc-provider whose text a client sees. oidc-provider logs the texts of its other errors, and answers with a general text. */
const shownErrors =
  /^(?:HintTokenExpired|errors\.(?:InvalidRequest|InvalidRequestObject|InvalidRequestUri|InvalidScope|InvalidTarget|InvalidDpopProof|InvalidClientMetadata|AccessDenied|LoginRequired|UnauthorizedClient|UnsupportedResponseType|UnmetAuthenticationRequirements|CustomOIDCProviderError))$/;

/**
 * Texts of oidc-provider. The service writes the same texts where it answers in place of oidc-provider, so that both give the same answer.
 */
const ofOidcProvider = readdirSync('node_modules/oidc-provider/lib', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.js'))
  .map((file) => readFileSync(`node_modules/oidc-provider/lib/${file}`, 'utf8'))
  .join('\n');

const descriptions = phrasesIn(['lib/oidc', 'lib/http', 'extensions/ciba'], (node) => {
  if (ts.isNewExpression(node) && shownErrors.test(node.expression.getText())) return [...(node.arguments ?? [])];
  if (ts.isNewExpression(node) && node.expression.getText() === 'Check') return [node.arguments?.[1]];
  if (ts.isCallExpression(node) && /^(?:invalid|refuse)$/.test(node.expression.getText())) return [...node.arguments];
  if (ts.isVariableDeclaration(node) && /^(?:mismatches|requestObjectFaults)$/.test(node.name.getText()) && node.initializer)
    return faultTexts(node.initializer);
  if (ts.isVariableDeclaration(node) && /^(?:refusal|BOTH_REQUESTS)$/.test(node.name.getText())) return [node.initializer];
  if (ts.isCallExpression(node) && node.expression.getText() === 'problemsOf.set') return [problemIn(node.arguments[1])];
  if (ts.isBinaryExpression(node) && node.left.getText() === 'problems(ctx).uri') return [node.right];
  return ts.isPropertyAssignment(node) && /^(?:(?:error_)?description|problem)$/.test(node.name.getText()) ? [node.initializer] : [];
});

/** Returns the text of a problem that may be undefined: `problem && text`. */
function problemIn(node: ts.Node | undefined): ts.Node | undefined {
  return node && ts.isBinaryExpression(node) ? node.right : node;
}

function faultTexts(table: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node)) found.push(ts.isArrowFunction(node.initializer) ? node.initializer.body : node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(table);
  return found;
}

/** Descriptions of a decision of the user, which need no advice. */
const ofUsers: ReadonlySet<string> = new Set(['The user did not allow the request.', 'The user cancelled the sign-in.']);
/** Texts that oidc-provider composes. */
const puzzled = /^missing required parameter | parameter must not be provided twice$/;

const isOfOidcProvider = (text: string): boolean => puzzled.test(text) || ofOidcProvider.includes(text.split(/'/)[0]?.trimEnd() || text);
const own = descriptions.filter(({ text }) => text.includes(' ') && !isOfOidcProvider(text));

test('each error_description of the service has two sentences: what is wrong, and what to do', () => {
  expect(own.length).toBeGreaterThan(60);
  // A text that ends with the problem from another function has the advice in that problem.
  const odd = own.filter(
    ({ text }) => !ofUsers.has(text) && !text.endsWith("'x'") && !/^\S(?:[^:;.]|[.:]\S|: in )+\. [A-Z](?:[^:;.]|\.\S)+\.$/.test(text),
  );
  expect(odd.map(({ file, text }) => `${file}: ${text}`)).toEqual([]);
});

test('each error_description is ASCII without quotes, and names what is wrong: RFC 6749 §5.2', () => {
  const odd = descriptions.filter(({ text }) => /[^\x20-\x7e]|["\\]|\b(?:bad|wrong)\b/.test(text));
  expect(odd.map(({ file, text }) => `${file}: ${text}`)).toEqual([]);
});

const english: Record<string, string> = Object.assign({}, catalogues.en, ...extensions.map(({ texts }) => texts?.en));

/**
 * Texts that say “try again”, and the reason why a retry helps: the cause ends, the person does something else, or the text names an
 * alternative.
 */
const passing: Readonly<Record<string, string>> = {
  'attempts.exceeded': 'a limit ends',
  busy: 'the queue ends',
  'unavailable.message': 'the store comes back',
  'sign-in.check.hint': 'a mail is late',
  'sign-in.confirm.busy': 'the queue ends',
  'sign-in.confirm.often': 'a limit ends',
  'account.again': 'a button',
  'account.foreign': 'a new form',
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
  'account.data.often': 'a limit ends',
  'account.profile.often': 'a limit ends',
  'sign-in.often.text': 'a limit ends',
  'passwords.often': 'a limit ends',
  'passwords.tooOften.title': 'a limit ends',
  'passwords.busy': 'the queue ends',
  'passwords.sent.hint': 'a mail is late',
};

test('each text of a page that says “try again” is one for which it helps', () => {
  const again = Object.entries(english).filter(([, text]) => /\btry again\b/i.test(text));
  expect(again.map(([key, text]) => `${key}: ${text}`).filter((line) => !Object.hasOwn(passing, line.split(':')[0] ?? ''))).toEqual([]);
});

/** Texts of pages about a failure. The title of the page says what happened, and the text says more. */
const failures = Object.keys(english).filter((key) =>
  /^(?:error\.message|expired\.message|unavailable\.message|wrongLink\.message|noCookies\.message|underWay\.message)$|^connections\.(?:failed|mixUp|over|unknown|wrongTenant|unverified|taken|unconfirmed|unavailable|lost)\.text$|^saml\.(?:refused|expired|notSignedIn)\.text$|^passwords\.(?:unavailable|unconfirmed|addressTaken|stopped|unknown|foreign|lost)\.text$|^invitations\.(?:unknown|revoked|replaced|expired|unconfirmed|unavailable|foreign|lost)\.text$|^sign-in\.(?:closed|over|unknown|foreign|exists|often)\.text$|^linked\.lost\.text$|^ciba\.(?:expired|lost)\.text$/.test(
    key,
  ),
);
const action =
  /\b(?:ask|tell|start again|try again|open|choose|use|verify|check|look|sign in|create|allow|give|nothing was (?:changed|lost)|tell)\b/i;

test('each page about a failure says what to do, or that nothing was changed', () => {
  expect(failures.length).toBeGreaterThan(35);
  expect(failures.filter((key) => !action.test(english[key] ?? '')).map((key) => `${key}: ${english[key]}`)).toEqual([]);
});

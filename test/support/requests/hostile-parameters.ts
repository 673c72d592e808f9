/** Parameters of an authorization request. The name or the value of each can deceive some program. */
import { hostileTexts } from './hostile-content.js';

type Parameters = Readonly<Record<string, string>>;

const underTheirOwn = (texts: readonly string[]): Parameters => Object.fromEntries(texts.map((text) => [text, text]));

/** Texts that run as script where a page leaves a context open, in addition to the texts of the tests of pages. */
export const payloads = [
  ...hostileTexts,
  '</script><script>alert(1)</script>',
  '"autofocus onfocus="alert(1)',
  "'-alert(1)-'",
  '<base href="//evil.example/">',
  '<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
  '<iframe srcdoc="<script>parent.alert(1)</script>">',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
];

/** Parameters that are returned unchanged. */
export const returned: Readonly<Record<string, Parameters>> = {
  'markup and addresses': underTheirOwn(payloads),
  "names of a form's own members, which a field of that name hides": underTheirOwn([
    'submit',
    'action',
    'method',
    'target',
    'elements',
    'length',
    'nodeName',
    'querySelector',
    'parentNode',
    'attributes',
  ]),
  'names that are nearly those of the protocol': underTheirOwn([
    'code;',
    'code=evil&iss',
    'iss#',
    '{code',
    'xcode[]',
    'a.code',
    '\u202ecode',
    'co\u200bde',
    'id_tokén',
  ]),
  'names of objects, and texts of all kinds': underTheirOwn([
    'toString',
    'valueOf',
    'hasOwnProperty',
    '__defineGetter__',
    '__proto__',
    'constructor',
    'prototype',
    '__custom',
    '_charset_',
    '_Charset_',
    'isindex',
    'ærlig',
    '日本語',
    '💥',
    'e\u0301',
    'a b+c%20d',
    '%3Cscript%3E',
    'a\r\nSet-Cookie: evil=1\r\n\r\n<script>alert(1)</script>',
    '\u0001\u007f\ufeff',
  ]),
};

/** Names that some framework reads as a name of the response, because it folds case and width, and cuts or replaces characters. */
export const spellings = [
  'Code',
  'CODE',
  'code[]',
  'code[0][a]',
  'code ',
  ' code',
  'code.x',
  'code+',
  '\u0001code',
  'ｃｏｄｅ',
  '\u00a0ISS\u00a0',
  'ſtate',
  'id.token',
  'access+token',
  'session state',
  'session[state',
  'session.state[x]',
  'Error[Description',
  'Password',
  'client.secret',
  '[error]',
  '[code',
  'code]',
  ']iss',
  '[[state]]',
  ' [ code ]',
  // R8-DOT: qs reads dots as brackets.
  '.error',
  '.iss',
  '..state',
  '[].code',
  '.[error]',
  '[.error_description]',
  '.session.state',
  'ıss',
  'İss',
];

/** Names with a meaning in a response, at least to some client, and names of secrets. The service drops these parameters of a request. */
export const dropped: Parameters = Object.fromEntries(
  `access_token code error error_description error_uri expires_in id_token iss refresh_token response session_state token_type
  password`
    .split(/\s+/)
    .concat(...spellings)
    .map((name) => [name, 'evil']),
);

/** Names that are members of every JWT: of a signed response, and of a signed request. */
export const ofJwts: Parameters = { sub: 'evil', aud: 'evil', exp: '1', nbf: '9999999999', iat: '1', jti: 'evil' };

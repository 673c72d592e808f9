/** The places of a request in which a text can be sent. */
import { fieldNames, headerNames, pageParameters, protocolParameters } from './names-read.js';

export interface Target {
  readonly method: string;
  /** Path of the route: `/idp/interaction/:uid`. */
  readonly path: string;
}

/** Parts of a request, in addition to the text, by which the request passes the first checks. */
export interface SignInUnderWay {
  readonly cookies: string;
  readonly csrf: string;
  readonly uid: string;
}

interface Written {
  /** The path and query. */
  readonly line: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

export interface Place {
  readonly name: string;
  /** Maximum bytes at that place: of a request line or a header, or of a form. */
  readonly longest: number;
  readonly isFor: (target: Target) => boolean;
  readonly put: (target: Target, text: string, here: SignInUnderWay) => Written;
}

const LINE = 12_000;
const FORM = 50_000;

const encoded = encodeURIComponent;
/** Encodes a text for a form. Letters stay, because a form may have the bytes of letters unencoded. */
const inForm = (text: string): string => text.replace(/[%&+=;#\s"\\]/g, encodeURIComponent);
const inHeader = (text: string): string => Buffer.from(text).toString('latin1');
const formType = 'Content-Type: application/x-www-form-urlencoded';

/** Whether the target is an operation of the admin API. Operations require a token before they read anything else. */
const isOperation = ({ path }: Target): boolean => path.startsWith('/idp/api/');
const isOfProtocol = ({ path }: Target): boolean => /^\/(?:connect|idp\/saml)\//.test(path) && !path.includes(':');
const isPublic = (target: Target): boolean => !isOperation(target);
const takesForm = (target: Target): boolean => target.method === 'POST' && isPublic(target);
const pathOf = ({ path }: Target, { uid }: SignInUnderWay): string => path.replace(/:uid/g, uid).replace(/[:*]\w+/g, 'x');

/** Returns a valid authorization request, without the parameter of this name. */
function requestWithout(name: string): string {
  const all = {
    client_id: 'web',
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:9/callback',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  return new URLSearchParams(Object.entries(all).filter(([each]) => each !== name)).toString();
}

const inUrl = (name: string, isFor: Place['isFor'], line: (target: Target, text: string, path: string) => string): Place => ({
  name,
  longest: LINE,
  isFor,
  put: (target, text, here) => ({ line: line(target, text, pathOf(target, here)) }),
});
const inHeaders = (name: string, isFor: Place['isFor'], header: (text: string) => string): Place => ({
  name,
  longest: LINE,
  isFor,
  put: (target, text, here) => ({ line: pathOf(target, here), headers: [header(text)] }),
});
const inBody = (name: string, isFor: Place['isFor'], body: (text: string, here: SignInUnderWay) => string, type = formType): Place => ({
  name,
  longest: FORM,
  isFor,
  put: (target, text, here) => ({ line: pathOf(target, here), headers: [type], body: body(text, here) }),
});
const distinct = (...lists: readonly (readonly string[])[]): readonly string[] => [...new Set(lists.flat())];

export const places: readonly Place[] = [
  inUrl(
    'the path and its end',
    () => true,
    ({ path }, text) => `${path.replace(/[:*]\w+/g, encoded(text))}/${encoded(text)}`,
  ),
  inUrl(
    'a part of the path',
    ({ path }) => path.includes(':'),
    ({ path }, text) => path.replace(/[:*]\w+/g, encoded(text)),
  ),
  inUrl('the query', isPublic, (_target, text, path) => `${path}?${inForm(text)}`),
  inUrl('the name of a parameter', isPublic, (_target, text, path) => `${path}?client_id=web&${encoded(text)}=1`),
  ...distinct(pageParameters, protocolParameters).map((name) =>
    inUrl(
      `the parameter ${name}`,
      (target) => target.method === 'GET' && (isOfProtocol(target) || (pageParameters.includes(name) && isPublic(target))),
      (_target, text, path) => `${path}?${requestWithout(name)}&${name}=${encoded(text)}`,
    ),
  ),
  ...headerNames.map((name) =>
    inHeaders(
      `the header ${name}`,
      (target) => (target.method === 'GET' || isOfProtocol(target)) && isPublic(target),
      (text) => `${name}: ${inHeader(text)}`,
    ),
  ),
  inHeaders(
    'the credentials of Basic',
    () => true,
    (text) => `Authorization: Basic ${Buffer.from(text).toString('base64')}`,
  ),
  inHeaders(
    'a bearer token',
    () => true,
    (text) => `Authorization: Bearer ${inHeader(text)}`,
  ),
  inHeaders('the cookie of a session', isPublic, (text) => `Cookie: idp.session=${inHeader(text)}; idp.session.sig=x`),
  inBody('the body', takesForm, (text) => text),
  inBody('the body as JSON', takesForm, (text) => text.slice(1, -3), 'Content-Type: application/json'),
  inBody('the name of a field', takesForm, (text) => `client_id=web&${inForm(text)}=1`),
  ...distinct(fieldNames, protocolParameters).map((name) =>
    inBody(
      `the field ${name}`,
      (target) => takesForm(target) && (isOfProtocol(target) ? protocolParameters : fieldNames).includes(name),
      (text, { csrf }) => `${requestWithout(name)}&csrf=${csrf}&step=send&identifier=a&password=a&${name}=${inForm(text)}`,
    ),
  ),
];

/** Returns a request with the text in the place. */
export function requestWith(place: Place, target: Target, text: string, here: SignInUnderWay): { lines: readonly string[]; body: string } {
  const { line, headers = [], body = '' } = place.put(target, text, here);
  const others = ['Host: x', `Cookie: ${here.cookies}`].filter(
    (other) => !headers.some((header) => header.toLowerCase().startsWith(other.split(' ', 1)[0]?.toLowerCase() ?? '')),
  );
  return { lines: [`${target.method} ${line} HTTP/1.1`, ...others, ...headers], body };
}

/** Returns the number of characters of a text that fill the place. */
export function mostIn(place: Place, target: Target, textOf: (length: number) => string, here: SignInUnderWay): number {
  const probe = 100;
  const { line, headers = [], body = '' } = place.put(target, textOf(probe), here);
  const bytes = place.longest === FORM ? Buffer.byteLength(body) : line.length + headers.join('').length;
  return Math.floor((place.longest * probe) / bytes);
}

/**
 * The requests that nearly all callers send: a form with a client's secret, a GET with a bearer token. They are answered without
 * oidc-provider, for a fraction of the work; whatever is in any way unusual, every error too, is left to it.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import type { Context } from 'koa';

/** Headers of browsers, and of authentication by other means. */
const unusualHeaders = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'] as const;

const isPlain = ({ headers }: IncomingMessage): boolean => unusualHeaders.every((name) => headers[name] === undefined);

/** The bearer token of a GET without parameters. @see RFC 6750 §2.1 */
export function plainBearer({ req, querystring }: Context): string | undefined {
  if (req.method !== 'GET' || querystring !== '' || !isPlain(req)) return undefined;
  return /^bearer ([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1];
}

type Fields = Readonly<Record<string, string | undefined>>;

export interface PlainForm {
  readonly fields: Fields;
  readonly clientId: string;
  readonly secret: string;
  /** Puts the body back for whoever reads the request next. */
  unread(): void;
}

const formType = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;

/**
 * The fields of a form, and the secret it came with.
 * @param holding only of a form that has this text; all others stay unread.
 */
export async function plainForm({ req }: Context, holding = ''): Promise<PlainForm | undefined> {
  if (req.method !== 'POST' || !isPlain(req) || !formType.test(req.headers['content-type'] ?? '')) return undefined;
  const body = await wholeBody(req);
  if (!body) return undefined;
  const unread = () => req.unshift(body);
  const text = body.toString();
  const fields = text.includes(holding) ? singleFields(text) : undefined;
  const credentials = fields && credentialsOf(req, fields);
  if (credentials) return { ...credentials, fields, unread };
  unread();
  return undefined;
}

/** Fields that each occur once, of which none is another way to authenticate. */
function singleFields(text: string): Fields | undefined {
  const fields = parse(text);
  for (const name in fields) if (typeof fields[name] !== 'string') return undefined;
  return fields.client_assertion === undefined ? (fields as Fields) : undefined;
}

/** A body that came in one piece, which forms do; undefined leaves it unread. */
async function wholeBody(req: IncomingMessage): Promise<Buffer | undefined> {
  const length = Number(req.headers['content-length']);
  if (!(length > 0 && length <= req.readableHighWaterMark)) return undefined;
  const body = (req.read() as Buffer | null) ?? (await firstPiece(req));
  if (body === null || body.length === length) return body ?? undefined;
  req.unshift(body);
  return undefined;
}

const firstPiece = (req: IncomingMessage): Promise<Buffer | null> =>
  new Promise((resolve) => {
    const answer = (): void => {
      req.off('readable', answer).off('close', answer);
      resolve(req.read() as Buffer | null);
    };
    req.on('readable', answer).on('close', answer);
  });

/** Of exactly one mechanism. @see RFC 6749 §2.3.1 */
function credentialsOf({ headers }: IncomingMessage, fields: Fields): Pick<PlainForm, 'clientId' | 'secret'> | undefined {
  const { client_id: clientId, client_secret: secret } = fields;
  if (headers.authorization === undefined) return clientId !== undefined && secret ? { clientId, secret } : undefined;
  const basic = secret === undefined ? basicCredentials(headers.authorization) : undefined;
  return basic && (clientId === undefined || clientId === basic.clientId) ? basic : undefined;
}

const basicPattern = /^basic ([A-Za-z0-9+/]+={0,2})$/i;
/** What stands for itself in application/x-www-form-urlencoded: anything else is left to whoever decodes it all. */
const literal = /^([\w.~-]+):([\w.~-]+)$/;

function basicCredentials(authorization: string): Pick<PlainForm, 'clientId' | 'secret'> | undefined {
  const encoded = basicPattern.exec(authorization)?.[1];
  const [, clientId, secret] = literal.exec(encoded ? Buffer.from(encoded, 'base64').toString('latin1') : '') ?? [];
  return clientId !== undefined && secret !== undefined ? { clientId, secret } : undefined;
}

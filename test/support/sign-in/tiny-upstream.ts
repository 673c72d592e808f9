/** A minimal upstream OpenID provider. The provider shows no pages, and checks the requests that it receives. */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TinyUpstream {
  /** Subject of every user, or an error to answer instead. */
  subject: string;
  error: string | undefined;
  readonly url: string;
  close(): void;
}

export async function startTinyUpstream(credentials: string): Promise<TinyUpstream> {
  const codes = new Map<string, { challenge: string; redirectUri: string; subject: string }>();
  const tokens = new Map<string, string>();
  const server = createServer(async (req, res) => {
    const url = new URL(req.url ?? '/', 'http://upstream');
    const json = (status: number, body: object) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/authorize') {
      const query = url.searchParams;
      const back = new URL(query.get('redirect_uri') ?? '');
      back.searchParams.set('state', query.get('state') ?? '');
      const code = randomUUID();
      codes.set(code, {
        challenge: query.get('code_challenge') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        subject: upstream.subject,
      });
      if (upstream.error === undefined) back.searchParams.set('code', code);
      else back.searchParams.set('error', upstream.error);
      return res.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') {
      const fields = await formOf(req);
      const known = codes.get(fields.get('code') ?? '');
      codes.delete(fields.get('code') ?? '');
      const verifier = createHash('sha256')
        .update(fields.get('code_verifier') ?? '')
        .digest('base64url');
      const isRight =
        req.headers.authorization === credentials && known?.challenge === verifier && known.redirectUri === fields.get('redirect_uri');
      if (!isRight || !known) return json(400, { error: 'invalid_grant' });
      const token = randomUUID();
      tokens.set(token, known.subject);
      return json(200, { access_token: token, token_type: 'Bearer' });
    }
    const sub = tokens.get(req.headers.authorization?.replace('Bearer ', '') ?? '');
    return sub === undefined ? json(401, {}) : json(200, { sub });
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const upstream: TinyUpstream = {
    subject: 'nobody',
    error: undefined,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  };
  return upstream;
}

async function formOf(req: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of req) text += chunk;
  return new URLSearchParams(text);
}

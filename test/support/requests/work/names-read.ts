/** Names of fields, parameters and headers of requests, read from the built source, so that no name is forgotten. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const built = join(import.meta.dirname, '../../../..');
const source = ['lib', 'extensions']
  .flatMap((folder) => readdirSync(join(built, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  .filter((name) => name.endsWith('.js') && !name.includes('admin-client'))
  .map((name) => readFileSync(join(built, name), 'utf8'))
  .join('\n');

const names = (...patterns: readonly RegExp[]): readonly string[] => [
  ...new Set(patterns.flatMap((pattern) => [...source.matchAll(pattern)].map(([, name = '']) => name))),
];

/** Fields of the forms of pages. */
export const fieldNames: readonly string[] = names(/(?:formField|passwordField|typedField)\(ctx, '([^']+)'/g);

/** Parameters of URLs of pages. */
export const pageParameters: readonly string[] = names(/query\.(\w+)/g);

/** Headers that our code, Koa and oidc-provider read. */
export const headerNames: readonly string[] = [
  ...new Set([
    ...names(/headers\.(\w+)/g, /headers\['([\w-]+)'\]/g, /\.get\('([A-Za-z-]+)'\)/g).map((name) => name.toLowerCase()),
    ...'accept host origin referer x-forwarded-for x-forwarded-host x-forwarded-proto if-match range dpop'.split(' '),
  ]),
].filter((name) => !['content-length', 'transfer-encoding', 'set', 'js'].includes(name));

/** Parameters of endpoints of the protocol, SAML included. */
export const protocolParameters: readonly string[] =
  `client_id client_secret client_assertion client_assertion_type response_type response_mode redirect_uri scope state nonce prompt max_age
  ui_locales id_token_hint login_hint login_hint_token acr_values claims resource request request_uri code_challenge code_challenge_method code
  code_verifier grant_type refresh_token token token_type_hint post_logout_redirect_uri logout_hint binding_message requested_expiry user_code
  authorization_details registration sub SAMLRequest SAMLResponse RelayState SigAlg Signature`.split(/\s+/);

/** Signed requests that a client sends without a browser. @see CIBA Core §7.1.1 */
import { decodeProtectedHeader } from 'jose';
import { type Client, errors } from 'oidc-provider';
import { epochSeconds } from '../../../times/epoch-seconds.js';
import type { AuthenticatedRequest } from '../../clients/authentication.js';
import { isAlgorithmOfProfile } from '../../clients/fapi.js';
import { clientAlgorithms, endsWithin, isFromFuture, isMeantFor, isPast, jwtProblem, useOnce } from '../../clients/jwts.js';
import type { OidcParts } from '../../context.js';
import { registeredClaims } from '../../keys/jwt.js';
import { verifiedByClient } from '../../upstream/client.js';
import { EXPLICIT_TYPE, MAX_LIFETIME_SECONDS, parametersIn, requestObjectFaults, typeOf, types } from '../request-objects.js';
import { BOTH_REQUESTS, type RequestUris } from '../request-uris.js';

type Parameters = Readonly<Record<string, string>>;

/** Returns the registered `backchannel_authentication_request_signing_alg`, under oidc-provider's name. */
const signingAlgOf = (client: Client): unknown =>
  (client as { backchannelAuthenticationRequestSigningAlg?: unknown }).backchannelAuthenticationRequestSigningAlg;

const algorithms: ReadonlySet<unknown> = new Set(clientAlgorithms);

/** Returns a refusal, which is always `invalid_request`. @see CIBA Core §13 */
const invalid = (description: string): Error => new errors.InvalidRequest(description);

/**
 * Returns the parameters of a request: the parameters of its request object, and plain parameters that the object does not have. Plain parameters do not
 * count if the object has an explicit type, or if the client must sign.
 */
export function createClientRequestObjects({ artifacts, options, now, isFapi2 }: OidcParts, requestUris: RequestUris) {
  async function verified({ client, record }: AuthenticatedRequest, jwt: string, alg: unknown): Promise<Readonly<Record<string, unknown>>> {
    if (!algorithms.has(alg)) throw invalid('The request object is not signed with a private key. Sign it with a key of the client.');
    if (isFapi2(record) && !isAlgorithmOfProfile(alg)) throw invalid(requestObjectFaults.ofNoProfile);
    const pinned = signingAlgOf(client);
    if (pinned !== undefined && pinned !== alg)
      throw invalid(`The request object is signed with another algorithm than the registered one. Sign it with ${pinned}.`);
    try {
      return await verifiedByClient(client, jwt);
    } catch {
      throw invalid('The request object could not be verified. Sign it with a private key of the client whose public key is registered.');
    }
  }

  /** @throws InvalidRequest */
  async function claimsOf(
    request: AuthenticatedRequest,
    jwt: string,
  ): Promise<{ claims: Readonly<Record<string, unknown>>; typ: unknown }> {
    const { client } = request;
    let header: { readonly alg?: unknown; readonly typ?: unknown };
    try {
      header = decodeProtectedHeader(jwt);
    } catch {
      throw invalid('The request object is not a JWT. Send a signed one.');
    }
    const typ = typeOf(header);
    if (!types.has(typ)) throw invalid(requestObjectFaults.otherKind);
    const claims = await verified(request, jwt, header.alg);
    const problem = jwtProblem(header, claims);
    if (problem) throw invalid(`The request object ${problem}`);
    const { iss, aud, exp, nbf, iat, jti, client_id: clientId } = claims;
    const missing = ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti'].find((name) => claims[name] === undefined);
    if (missing) throw invalid(requestObjectFaults.missing(missing));
    if (iss !== client.clientId || (clientId !== undefined && clientId !== client.clientId))
      throw invalid('iss or client_id of the request object names another client. Send the client_id.');
    // A request object whose `sub` is the client could be used as a client assertion. @see RFC 9101 §10.8
    if (claims.sub === client.clientId) throw invalid(requestObjectFaults.subIsClient);
    if (!isMeantFor([options.issuer], aud)) throw invalid(requestObjectFaults.otherAudience(options.issuer));
    if (![exp, iat, nbf].every((time) => typeof time === 'number'))
      throw invalid('exp, iat or nbf of the request object is not a number. Send seconds since 1970.');
    const at = epochSeconds(now());
    if (isPast(exp, at)) throw invalid(requestObjectFaults.expired);
    if (isFromFuture(nbf, at)) throw invalid(requestObjectFaults.notYet);
    if (!endsWithin(MAX_LIFETIME_SECONDS, exp, nbf, at)) throw invalid(requestObjectFaults.tooLong);
    if (typeof jti !== 'string' || jti === '')
      throw invalid('jti of the request object is not a string. Send a new jti in each request object.');
    if (claims.request !== undefined || claims.request_uri !== undefined)
      throw invalid('The request object has request or request_uri. Leave them out.');
    if (!(await useOnce(artifacts, 'RequestObject', { iss: client.clientId, jti, exp })))
      throw invalid('The request object was used before. Make a new one, with its own jti, for each request.');
    return { claims, typ };
  }

  return async (request: AuthenticatedRequest, names: ReadonlySet<string>): Promise<Parameters> => {
    const { client, record, parameters } = request;
    const given = textsIn(parameters, new Set([...names, 'request', 'request_uri', 'client_id']));
    const { request: byValue, request_uri: uri, client_id: _, ...beside } = given;
    if (byValue !== undefined && uri !== undefined) throw invalid(BOTH_REQUESTS);
    const jwt = uri === undefined ? byValue : await requestUris.fetch(record, uri);
    if (uri !== undefined && jwt === undefined)
      throw invalid(
        'request_uri is not registered, or could not be read. Add it to request_uris of the client, and check that it answers.',
      );
    const mustSign = client.requireSignedRequestObject === true || signingAlgOf(client) !== undefined;
    if (jwt === undefined && mustSign)
      throw invalid('The request is not signed. Send a request object, because the client must sign its requests.');
    if (jwt === undefined) return beside;
    const { claims, typ } = await claimsOf(request, jwt);
    const inside = textsIn(parametersIn(claims), new Set([...names].filter((name) => !registeredClaims.has(name))));
    return typ === EXPLICIT_TYPE || mustSign ? inside : { ...beside, ...inside };
  };
}

/** Returns named parameters with a value. @throws InvalidRequest for a repeated parameter */
function textsIn(given: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): Parameters {
  const found = Object.entries(given).filter(([name, value]) => names.has(name) && value !== undefined && value !== '');
  const repeated = found.find(([, value]) => typeof value !== 'string');
  if (repeated) throw invalid(`'${repeated[0]}' parameter must not be provided twice`);
  return Object.fromEntries(found) as Parameters;
}

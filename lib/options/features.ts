/** Each feature of oidc-provider: an option, always on, or refused by name. `docs/reference/options.md` has the same table. */

import { isFunction, isObject, missing, unknownName, valueAt, wrong } from '../config-problem.js';
import { ConfigError, type ConfigProblem } from '../errors.js';
import { ownMember } from '../text/own-member.js';
import type { Features, IdentityProviderOptions } from './options.js';

/** Rule for a member of a feature. */
interface Member {
  readonly expected: string;
  readonly holds: (value: unknown) => boolean;
  /** Whether the feature needs the member. With a name, the feature needs the member only if the named member is also on. */
  readonly required?: true | string;
}

/** The standing of a feature. Without members, nothing of the feature can be set. */
type Standing =
  | {
      readonly standing: 'option';
      readonly members: Readonly<Record<string, Member>>;
      /** Whether oidc-provider's own handlers answer if the feature is on, because the service's handlers do not support it. */
      readonly handsOver: boolean;
    }
  /** Always on. The host can set only these members. */
  | { readonly standing: 'always on'; readonly members: Readonly<Record<string, Member>> }
  | { readonly standing: 'refused'; readonly because: string };

const boolean: Member = { expected: 'true or false', holds: (value) => typeof value === 'boolean' };
const callback: Member = { expected: 'a function, as in the documentation of oidc-provider: (ctx) => …', holds: isFunction };

const option = (members: Readonly<Record<string, Member>> = {}, handsOver = true): Standing => ({ standing: 'option', members, handsOver });
const alwaysOn = (members: Readonly<Record<string, Member>> = {}): Standing => ({ standing: 'always on', members });
const refused = (because: string): Standing => ({ standing: 'refused', because });

const experimental = refused('it is experimental in oidc-provider');
const notYet = (what: string) => refused(`${what} is not served yet`);

/** All features of oidc-provider 9.13, by name. */
export const featureStandings: Readonly<Record<string, Standing>> = {
  claimsParameter: option({ assertClaimsParameter: callback }),
  dPoP: option(
    {
      allowReplay: boolean,
      nonceSecret: { expected: 'a Buffer of 32 bytes', holds: (value) => value instanceof Uint8Array && value.length === 32 },
      requireNonce: callback,
    },
    false,
  ),
  encryption: option(),
  fapi: option({
    profile: {
      expected: "'1.0 Final', or a function that returns it for a client. For FAPI 2.0, set the option fapi, or fapi of a client",
      holds: (value) => typeof value === 'function' || value === '1.0 Final',
      required: true,
    },
  }),
  jwtUserinfo: option(),
  mTLS: option({
    certificateAuthorized: { ...callback, required: 'tlsClientAuth' },
    certificateBoundAccessTokens: boolean,
    certificateSubjectMatches: { ...callback, required: 'tlsClientAuth' },
    getCertificate: { ...callback, required: true },
    selfSignedTlsClientAuth: boolean,
    tlsClientAuth: boolean,
  }),
  resourceIndicators: option({ defaultResource: callback, getResourceServerInfo: callback, useGrantedResource: callback }),

  backchannelLogout: alwaysOn(),
  ciba: alwaysOn(),
  clientCredentials: alwaysOn(),
  introspection: alwaysOn(),
  jwtIntrospection: alwaysOn(),
  jwtResponseModes: alwaysOn(),
  pushedAuthorizationRequests: alwaysOn({ requirePushedAuthorizationRequests: boolean }),
  requestObjects: alwaysOn({ requireSignedRequestObject: boolean }),
  revocation: alwaysOn(),
  rpInitiatedLogout: alwaysOn(),
  userinfo: alwaysOn(),

  attestClientAuth: experimental,
  clientIdMetadataDocument: refused('clients are records of the directory'),
  deviceFlow: notYet('the device flow'),
  devInteractions: refused('the service has pages of its own'),
  externalSigningSupport: refused('the service decides how its keys sign'),
  openid4vci: experimental,
  registration: notYet('dynamic registration'),
  registrationManagement: notYet('dynamic registration'),
  richAuthorizationRequests: notYet('authorization_details'),
  rpMetadataChoices: notYet('dynamic registration'),
  webMessageResponseMode: experimental,
};

const standingOf = (name: string): Standing | undefined => ownMember(featureStandings, name);

/** Returns the features that the host sets. Features are left out if the host only confirms that they are always on, or off. */
export const settableFeatures = (given: Features = {}): Features =>
  Object.fromEntries(Object.entries(given).filter(([name, feature]) => feature !== undefined && isSettable(standingOf(name))));

const isSettable = (standing: Standing | undefined): boolean =>
  standing?.standing === 'option' || (standing?.standing === 'always on' && Object.keys(standing.members).length > 0);

/** Returns whether a feature is on that only oidc-provider's own handlers support. */
export const isHandedOver = (features: Features): boolean =>
  Object.entries(features).some(([name, feature]) => {
    const standing = standingOf(name);
    return feature?.enabled === true && standing?.standing === 'option' && standing.handsOver;
  });

/** Returns all problems of the option `features`. */
export function findFeatureProblems(options: unknown): readonly ConfigProblem[] {
  const given = valueAt(options, ['features']);
  if (!isObject(given)) return [];
  return Object.entries(given).flatMap(([name, feature]) => (feature === undefined ? [] : problemsOf(name, feature)));
}

function problemsOf(name: string, feature: unknown): readonly ConfigProblem[] {
  const path = ['features', name];
  const standing = standingOf(name);
  if (!standing) return [unknownName(path, name, Object.keys(featureStandings), 'a feature that exists')];
  if (!isObject(feature)) return [wrong(path, 'an object, such as { enabled: true }', feature)];
  const { enabled } = feature;
  if (enabled !== undefined && typeof enabled !== 'boolean') return [wrong([...path, 'enabled'], 'true or false', enabled)];
  if (standing.standing === 'refused') return enabled === false ? [] : [missing(path, `nothing, because ${standing.because}`)];
  const members = { enabled: standing.standing === 'option' ? boolean : always, ...standing.members };
  const wrongMembers = Object.entries(feature).flatMap(([member, value]) => {
    if (value === undefined) return [];
    const rule = ownMember(members, member);
    if (!rule) return [unknownName([...path, member], member, Object.keys(members), 'an option of the feature that exists')];
    return rule.holds(value) ? [] : [wrong([...path, member], rule.expected, value)];
  });
  const absent =
    enabled === true ? Object.entries(members).filter(([member, rule]) => feature[member] === undefined && isNeeded(rule, feature)) : [];
  return [...wrongMembers, ...absent.map(([member, { expected }]) => missing([...path, member], expected))];
}

const always: Member = { expected: 'true, because it is part of the service', holds: (value) => value === true };

const isNeeded = ({ required }: Member, feature: Readonly<Record<string, unknown>>): boolean =>
  typeof required === 'string' ? feature[required] === true : required === true;

type Configure = NonNullable<IdentityProviderOptions['configure']>;

/**
 * Refuses a feature that `configure` turned on and the service does not support. oidc-provider would otherwise announce endpoints that do not exist.
 * @throws ConfigError `invalid_options`
 */
export const withRefusals =
  (configure: Configure): Configure =>
  (given) => {
    const configuration = configure(given) ?? given;
    const refusedOnes = Object.entries(featureStandings).flatMap(([name, standing]) =>
      standing.standing === 'refused' && name !== 'externalSigningSupport' && valueAt(configuration, ['features', name, 'enabled']) === true
        ? [missing(['configure', 'features', name], `nothing, because ${standing.because}`)]
        : [],
    );
    if (refusedOnes.length > 0) throw new ConfigError('invalid_options', refusedOnes);
    return configuration;
  };

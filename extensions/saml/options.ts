/** Options of the SAML identity provider, their defaults and their checks. */

import type { ReportProblem } from '../../lib/extension-door.js';
import { ownMember } from '../../lib/extension-door.js';
import { missingPeers } from './entities/certificate.js';
import { checkGivenKeys } from './entities/given-keys.js';
import type { SamlKeyPair } from './entities/published-keys.js';
import { MAX_CLOCK_SKEW_SECONDS } from './front-door/times.js';

export interface SamlOptions {
  /** entityID of the instance, a URI. @default the URL of its metadata */
  readonly entityId?: string;
  /**
   * Signing keys of the operator. The first signing key signs. Metadata has all signing keys. To rotate signing keys, change this option, because the admin
   * API only lists them.
   * @default a signing key that the service creates and stores encrypted, with a self-signed certificate for ten years
   */
  readonly keys?: readonly SamlKeyPair[];
  /** Whether each tenant is also an entity, at `/idp/saml/t/{tid}`. @default true */
  readonly tenantEntities?: boolean;
  /** Whether metadata asks for signed requests, and unsigned requests of all service providers are refused. @default false */
  readonly wantAuthnRequestsSigned?: boolean;
  /** Seconds that the clock of a service provider may differ from the clock of this service, 0 to 600. @default 180 */
  readonly clockSkewSeconds?: number;
}

/** Options with their defaults. */
export interface ResolvedSamlOptions extends Required<Omit<SamlOptions, 'entityId' | 'keys'>> {
  readonly entityId: string | undefined;
  readonly keys: readonly SamlKeyPair[] | undefined;
}

export const resolveSamlOptions = ({
  entityId,
  keys,
  tenantEntities = true,
  wantAuthnRequestsSigned = false,
  clockSkewSeconds = 180,
}: SamlOptions): ResolvedSamlOptions => ({ entityId, keys, tenantEntities, wantAuthnRequestsSigned, clockSkewSeconds });

const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
/** @see SAML Core §8.3.6 */
const isEntityId = (value: unknown): boolean => typeof value === 'string' && /^[a-z][a-z0-9+.-]*:[!-~]{1,1000}$/i.test(value);
const isSkew = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_CLOCK_SKEW_SECONDS;

const members: Readonly<Record<keyof SamlOptions, { readonly expected: string; readonly isRight: (value: unknown) => boolean }>> = {
  entityId: { expected: "a URI of at most 1000 characters, such as 'https://id.example/saml'", isRight: isEntityId },
  keys: { expected: 'a list of keys: [{ key, certificate }]', isRight: () => true },
  tenantEntities: { expected: 'true or false', isRight: isBoolean },
  wantAuthnRequestsSigned: { expected: 'true or false', isRight: isBoolean },
  clockSkewSeconds: { expected: `a whole number of seconds, 0 to ${MAX_CLOCK_SKEW_SECONDS}`, isRight: isSkew },
};

/** Reports every invalid option. Without the option `keys`, reports the packages that are missing to create a signing key. */
export function checkSamlOptions(options: unknown, report: ReportProblem): void {
  if (typeof options !== 'object' || options === null) {
    report({ expected: 'an object of options, such as { tenantEntities: false }' });
    return;
  }
  for (const [name, value] of Object.entries(options)) {
    const member = ownMember(members, name);
    if (!member) report({ path: [name], expected: `one of ${Object.keys(members).join(', ')}` });
    else if (value !== undefined && !member.isRight(value)) report({ path: [name], expected: member.expected, received: String(value) });
  }
  const { keys } = options as SamlOptions;
  if (keys !== undefined) checkGivenKeys(keys, report);
  else {
    const missing = missingPeers();
    if (missing.length > 0)
      report({
        path: ['keys'],
        expected: `a key with its certificate, or the packages that make one to be installed: ${missing.join(', ')}`,
      });
  }
}

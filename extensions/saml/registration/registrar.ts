/** Builds registrations from metadata and from members that administrators give. Members of administrators take precedence. */

import type { ExtensionContext } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { type DescribedMember, describedMembers, isDescribed, type ServiceProviderDescription } from '../metadata-reader/description.js';
import { refuse } from '../service-providers/errors.js';
import type { ServiceProviderFields } from '../service-providers/records.js';
import { checked, defaultsOf, type Registration } from './rules.js';

/** Members that an administrator gives a new service provider. */
export type Given = Partial<Registration>;

/** Members that an administrator changes, a JSON Merge Patch. @see RFC 7396 */
export type Change = { readonly [Member in keyof Registration]?: unknown };

type Source = NonNullable<ServiceProviderFields['source']>;
export type Registered = Registration & { readonly source?: Source };

/** Metadata that was just read, with its URL if it has one. */
export interface ReadMetadata {
  readonly url?: string;
  readonly description: ServiceProviderDescription;
}

/** Applies a JSON Merge Patch. @see RFC 7396 §2 */
function patched(target: object, change: object): object {
  const next: Record<string, unknown> = { ...target };
  for (const [member, value] of Object.entries(change)) {
    if (value === null) delete next[member];
    else if (isGroup(value)) next[member] = patched(isGroup(next[member]) ? next[member] : {}, value);
    else if (value !== undefined) next[member] = value;
  }
  return next;
}
const isGroup = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the name of a service provider without a name. */
const nameOf = (entityId: string): string => entityId.slice(0, 200);

const isGiven = (value: unknown): boolean => value !== undefined;
const givenMembers = (given: object): readonly DescribedMember[] =>
  Object.entries(given).flatMap(([member, value]) => (isDescribed(member) && isGiven(value) ? [member] : []));

function checkSigned({ signAssertion }: Registration, { wantsSignedAssertions }: ServiceProviderDescription): void {
  if (!signAssertion && wantsSignedAssertions)
    refuse([{ path: '/signAssertion', expected: 'true, because the metadata requires signed assertions' }]);
}

export type Registrar = ReturnType<typeof createRegistrar>;

export function createRegistrar(context: ExtensionContext) {
  const sourceOf = ({ url, description: { validUntil, notes, warnings } }: ReadMetadata, overridden: readonly string[]): Source => ({
    ...present({ url }),
    overridden: [...new Set(overridden)].sort(),
    readAt: new Date(context.service.now()).toISOString(),
    ...present({ validUntil }),
    notes: [...notes],
    ...(warnings.length > 0 && { warnings: [...warnings] }),
  });

  /** Replaces the members of the previous metadata with the members of the current metadata. */
  function described(
    before: Registration,
    { members, entityId }: ServiceProviderDescription,
    overridden: ReadonlySet<string>,
  ): Registration {
    const next: Record<string, unknown> = { ...before };
    const defaults: Partial<Registration> = { ...defaultsOf(context), name: nameOf(entityId) };
    for (const member of describedMembers) {
      // Metadata does not decide how assertions are encrypted to an encryption key that an administrator gave.
      if (overridden.has(member) || (member === 'encryption' && overridden.has('encryptionCertificate'))) continue;
      const value = members[member] ?? defaults[member];
      if (value === undefined) delete next[member];
      else next[member] = value;
    }
    return next as unknown as Registration;
  }

  return {
    /** Builds a new registration. @throws IdpError `invalid_record` */
    create(given: Given, owner: string, metadata?: ReadMetadata): Registered {
      const { description } = metadata ?? {};
      const entityId = given.entityId ?? description?.entityId;
      const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => isGiven(value))) as Given;
      const whole = { ...defaultsOf(context), ...stated, entityId, name: stated.name ?? nameOf(entityId ?? '') } as Registration;
      const missing = (['entityId', 'assertionConsumerServices'] as const).filter((member) => !description && !isGiven(stated[member]));
      refuse(missing.map((member) => ({ path: `/${member}`, expected: 'a value, because there is no metadata' })));
      if (!metadata || !description) return checked(whole, owner, context);
      const overridden = givenMembers(stated);
      const registration = checked(described(whole, description, new Set(overridden)), owner, context);
      checkSigned(registration, description);
      return { ...registration, source: sourceOf(metadata, overridden) };
    },

    /**
     * Changes a registration.
     * @param metadata read for this change. `url: null` removes the URL of the metadata.
     * @throws IdpError `invalid_record`
     */
    change<Row extends Registered>(
      row: Row,
      change: Change,
      owner: string,
      {
        metadata,
        url,
        overridden,
      }: { readonly metadata?: ReadMetadata; readonly url?: null; readonly overridden?: readonly string[] } = {},
    ): Row {
      const { source: before, ...rest } = row;
      const isNamed = !before && row.name !== nameOf(row.entityId);
      const overriddenMembers = [...(overridden ?? before?.overridden ?? (isNamed ? ['name'] : [])), ...givenMembers(change)];
      let next = rest as Registration;
      if (metadata) next = described(next, metadata.description, new Set(overriddenMembers));
      const registration = checked(patched(next, change) as Registration, owner, context);
      if (metadata) checkSigned(registration, metadata.description);
      if (!metadata && !before) {
        if (overridden?.length) refuse([{ path: '/overridden', expected: 'nothing, because there is no metadata' }]);
        return registration as Row;
      }
      const source = metadata
        ? sourceOf(metadata, overriddenMembers)
        : ({ ...before, overridden: [...new Set(overriddenMembers)].sort() } as Source);
      const { url: _, problem: __, ...unread } = source;
      return { ...registration, source: url === null ? unread : source } as Row;
    },
  };
}

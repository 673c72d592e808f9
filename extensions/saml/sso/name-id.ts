/** What a service provider calls a user. @see SAML Core §8.3 */
import { type Account, type ExtensionContext, isEmailAddress, isUsable } from '../../../lib/extension-door.js';
import type { Entity } from '../entities/entity.js';
import type { AuthnRequest, NameId } from '../messages/inbound.js';
import { isSameNameId, nameIdUris } from '../messages/name-id.js';
import { clientIdOf, type NameIdFormat, type ServiceProvider } from '../service-providers/records.js';
import { newMessageId } from '../xml/write.js';

/** The format of a response; undefined where the request wants another than is registered, or a name that is shared. @see SAML Core §3.4.1.1 */
export function wantedFormat(
  { nameId, entityId }: Pick<ServiceProvider, 'nameId' | 'entityId'>,
  { nameIdFormat, spNameQualifier = entityId }: Pick<AuthnRequest, 'nameIdFormat' | 'spNameQualifier'>,
): NameIdFormat | undefined {
  if (spNameQualifier !== entityId) return undefined;
  if (nameIdFormat === undefined || nameIdFormat === nameIdUris.unspecified) return nameId.format;
  return [nameId.format, 'transient' as const].find((format) => nameIdUris[format] === nameIdFormat);
}

export type NameIds = ReturnType<typeof createNameIds>;

export function createNameIds({ pseudonyms, claims, directory }: Pick<ExtensionContext, 'pseudonyms' | 'claims' | 'directory'>) {
  /** One of the instance and one of a tenant cannot compare theirs, though they have one entityID. */
  const sectorOf = ({ tid, entityId }: ServiceProvider): string => `saml ${tid} ${entityId}`;

  async function claimOf(account: Account, serviceProvider: ServiceProvider, name: string): Promise<readonly unknown[]> {
    const { [name]: value } = await claims.named(account, new Set([name]), 'saml', clientIdOf(serviceProvider));
    return [value ?? []].flat();
  }

  /** Returns the verified address only, because an unverified one could belong to another person. User names do not count as verified, because administrators rename users. */
  async function verifiedEmail(account: Account, serviceProvider: ServiceProvider): Promise<string | undefined> {
    const { email: own, user } = account.person;
    const { claim } = serviceProvider.nameId;
    if (!user.emailVerified || own === undefined || !isEmailAddress(own)) return undefined;
    if (claim === undefined) return own;
    const found = (await claimOf(account, serviceProvider, claim)).find((value) => String(value).toLowerCase() === own.toLowerCase());
    return found === undefined ? undefined : String(found);
  }

  async function identifierOf(account: Account, serviceProvider: ServiceProvider, format: NameIdFormat): Promise<string | undefined> {
    if (format === 'transient') return newMessageId();
    if (format === 'persistent') return pseudonyms?.of(sectorOf(serviceProvider), account.person.user.id);
    if (format === 'emailAddress') return verifiedEmail(account, serviceProvider);
    const [value] = await claimOf(account, serviceProvider, serviceProvider.nameId.claim ?? 'sub');
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  }

  /** The format that a subject of a request is meant in. */
  const formatOf = ({ nameId }: ServiceProvider, { format = nameIdUris.unspecified }: NameId): NameIdFormat | undefined => {
    if (format === nameIdUris.unspecified) return nameId.format;
    return (Object.keys(nameIdUris) as NameIdFormat[]).find((name) => nameIdUris[name] === format);
  };

  return {
    /** Undefined where the user has none: no verified address, or not the claim. */
    async of(account: Account, serviceProvider: ServiceProvider, format: NameIdFormat, { entityId }: Entity): Promise<NameId | undefined> {
      const value = await identifierOf(account, serviceProvider, format);
      if (value === undefined || value === '') return undefined;
      const qualifiers = { nameQualifier: entityId, spNameQualifier: serviceProvider.entityId };
      return { value, format: nameIdUris[format], ...(format === 'persistent' || format === 'transient' ? qualifiers : {}) };
    },

    /**
     * What the sign-in page begins with for the subject of a request: what the request says itself. Nothing is looked up for it, because anybody can send a
     * request. The empty text where the page begins with nothing; undefined where the subject is nobody.
     */
    async hintOf(serviceProvider: ServiceProvider, subject: NameId): Promise<string | undefined> {
      const format = formatOf(serviceProvider, subject);
      if (format === undefined) return undefined;
      if (format === 'transient') return '';
      if (format !== 'persistent') return subject.value;
      const oid = pseudonyms?.oidOf(sectorOf(serviceProvider), subject.value);
      const account = oid === undefined ? undefined : await directory.accounts.findByOid(oid);
      return account && isUsable(account) ? '' : undefined;
    },

    /** Whether the account is whom the request is about. @param known what the service provider calls whoever is signed in here */
    async isOf(
      account: Account,
      serviceProvider: ServiceProvider,
      entity: Entity,
      subject: NameId,
      known: readonly NameId[],
    ): Promise<boolean> {
      if (known.some((each) => isSameNameId(subject, each))) return true;
      const format = formatOf(serviceProvider, subject);
      if (format === undefined || format === 'transient') return false;
      const ours = await this.of(account, serviceProvider, format, entity);
      if (!ours) return false;
      const isEmail = format === 'emailAddress';
      const folded = (value: string): string => (isEmail ? value.toLowerCase() : value);
      return isSameNameId({ ...subject, value: folded(subject.value) }, { ...ours, value: folded(ours.value) });
    },
  };
}

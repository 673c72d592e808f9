/** NameIDs of users, and the user that a NameID names. @see SAML Core §8.3 */
import { type Account, type ExtensionContext, isEmailAddress, isUsable } from '../../../lib/extension-door.js';
import type { Entity } from '../entities/entity.js';
import type { NameId } from '../messages/inbound.js';
import { isSameNameId, nameIdUris } from '../messages/name-id.js';
import { clientIdOf, type NameIdFormat, type ServiceProvider } from '../service-providers/records.js';
import { newMessageId } from '../xml/write.js';

export type NameIds = ReturnType<typeof createNameIds>;

export function createNameIds({ claims, directory }: Pick<ExtensionContext, 'claims' | 'directory'>) {
  async function claimOf(account: Account, serviceProvider: ServiceProvider, name: string): Promise<readonly unknown[]> {
    const { [name]: value } = await claims.named(account, new Set([name]), 'saml', clientIdOf(serviceProvider));
    return [value ?? []].flat();
  }

  /**
   * Returns the verified address only, because an unverified address could belong to another person. User names do not count as verified, because
   * administrators rename users.
   */
  async function verifiedEmail(account: Account, serviceProvider: ServiceProvider): Promise<string | undefined> {
    const { email: own, user } = account.person;
    const { claim } = serviceProvider.nameId;
    if (!user.emailVerified || own === undefined || !isEmailAddress(own)) return undefined;
    if (claim === undefined) return own;
    const address = (await claimOf(account, serviceProvider, claim)).find((value) => String(value).toLowerCase() === own.toLowerCase());
    return address === undefined ? undefined : String(address);
  }

  async function identifierOf(account: Account, serviceProvider: ServiceProvider, format: NameIdFormat): Promise<string | undefined> {
    if (format === 'transient') return newMessageId();
    if (format === 'persistent') return claims.pseudonyms?.of(sectorOf(serviceProvider), account.person.user.id);
    if (format === 'emailAddress') return verifiedEmail(account, serviceProvider);
    const [value] = await claimOf(account, serviceProvider, serviceProvider.nameId.claim ?? 'sub');
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  }

  return {
    /** Returns the NameID of a user. Undefined if the user has no verified address, or no value of the claim. */
    async nameIdOf(
      account: Account,
      serviceProvider: ServiceProvider,
      format: NameIdFormat,
      { entityId }: Entity,
    ): Promise<NameId | undefined> {
      const value = await identifierOf(account, serviceProvider, format);
      if (value === undefined || value === '') return undefined;
      const qualifiers = { nameQualifier: entityId, spNameQualifier: serviceProvider.entityId };
      return { value, format: nameIdUris[format], ...(format === 'persistent' || format === 'transient' ? qualifiers : {}) };
    },

    /**
     * Returns the text that the sign-in page starts with for the subject of a request. Only a value of the request itself is returned, never a value of a
     * record, because anybody can send a request. An empty text means that the page starts empty. Undefined means that the subject is not a user of this
     * service.
     */
    async loginHintOf(serviceProvider: ServiceProvider, subject: NameId): Promise<string | undefined> {
      const formats = formatsOf(serviceProvider, subject);
      if (formats.includes('transient')) return '';
      if (formats.includes('persistent')) {
        const oid = claims.pseudonyms?.oidOf(sectorOf(serviceProvider), subject.value);
        const account = oid === undefined ? undefined : await directory.accounts.findByOid(oid);
        if (account && isUsable(account)) return '';
      }
      return formats.some((format) => format !== 'persistent') ? subject.value : undefined;
    },

    /** Returns whether the subject of a request is this account. @param sent NameIDs of the account that the service provider got in this session */
    async isSubject(
      account: Account,
      serviceProvider: ServiceProvider,
      entity: Entity,
      subject: NameId,
      sent: readonly NameId[],
    ): Promise<boolean> {
      if (sent.some((each) => isSameNameId(serviceProvider, subject, each))) return true;
      for (const format of formatsOf(serviceProvider, subject)) {
        const ours = format === 'transient' ? undefined : await this.nameIdOf(account, serviceProvider, format, entity);
        const folded = (name: NameId): NameId => (format === 'emailAddress' ? { ...name, value: name.value.toLowerCase() } : name);
        if (ours && isSameNameId(serviceProvider, folded(subject), folded(ours))) return true;
      }
      return false;
    },
  };
}

/**
 * Returns the sector of a service provider's pseudonyms. The sector contains the owner, so that two service providers with one entityID cannot compare
 * their users.
 */
const sectorOf = ({ tid, entityId }: ServiceProvider): string => `saml ${tid} ${entityId}`;

/** Returns the formats that the subject of a request may have. */
const formatsOf = ({ nameId }: ServiceProvider, { format = nameIdUris.unspecified }: NameId): readonly NameIdFormat[] => {
  if (format === nameIdUris.unspecified) return [nameId.format];
  const named = (Object.keys(nameIdUris) as NameIdFormat[]).filter((name) => nameIdUris[name] === format);
  return nameId.ifAnotherIsAsked === 'answer' ? [...named, nameId.format] : named;
};

/**
 * Mail after “Create account”: a registration link, or a notice that the account exists. The delivery decides which, so that the time of the page does not
 * show whether the account exists.
 */
import {
  type DeliveryHandler,
  type ExtensionContext,
  type Letter,
  type LetterPart,
  type Mail,
  present,
  utcTime,
} from '../../../lib/extension-door.js';
import { SEND, type WaitingRegistration, waitingRegistrations } from './records.js';

const PURPOSE = 'sign-in registration link';

export interface RegistrationLinks {
  urlOf(id: string): string;
  /** Returns the id in a token; undefined for a token that this service did not create. */
  read(token: string): string | undefined;
}

export function createRegistrationLinks({
  keys: { seal },
  service: { url, own },
}: Pick<ExtensionContext, 'keys' | 'service'>): RegistrationLinks {
  const hashesOf = (id: string): readonly string[] => seal(PURPOSE).hashes(id);
  return {
    urlOf: (id) => url(`${own}/register/${id}.${hashesOf(id)[0]}`),
    read(token) {
      const [id = '', secret = ''] = token.split('.', 2);
      // Compares hashes of the hashes, so that the time of the comparison reveals nothing.
      return /^[\da-f-]{36}$/.test(id) && hashesOf(id).some((own) => hashesOf(own)[0] === hashesOf(secret)[0]) ? id : undefined;
    },
  };
}

export function registrationDeliveries(context: ExtensionContext): Readonly<Record<string, DeliveryHandler>> {
  const { mail } = context.work;
  return mail ? { [SEND]: createSend(context, mail) } : {};
}

function createSend(context: ExtensionContext, mail: Mail): DeliveryHandler {
  const {
    records: { artifact },
    limits: { limit },
    directory,
    pages: { brandingOf },
  } = context;
  const links = createRegistrationLinks(context);
  const ofAddress = limit('registrationMails');
  return async ({ data, attempts: before }) => {
    const id = String(data.id);
    const registration = (await artifact(waitingRegistrations).read(id)) as WaitingRegistration | undefined;
    if (!registration) return;
    const { tid, clientId, prepared, locale: wanted, expiresAt } = registration;
    const { email } = prepared;
    if (before === 0 && (await ofAddress.attempt(tid, directory.accounts.nameKey(email))).isOver)
      return artifact(waitingRegistrations).remove(id);
    const { tenant } = await brandingOf(tid, clientId);
    if (!tenant) return;
    const holder = await directory.forTenant(tid).users.findByUserName(email);
    const isTaken = holder !== undefined;
    // The mail contains no text of the form, because an attacker may have posted it.
    const values = { tenant: tenant.name, time: utcTime(new Date(expiresAt)) };
    const name = isTaken ? 'exists' : 'register';
    const text = (key: string) => ({ key: `sign-in.mail.${key}`, values });
    const link: readonly LetterPart[] = isTaken
      ? []
      : [
          { part: 'button', text: 'sign-in.mail.register.button', href: links.urlOf(id) },
          { part: 'note', text: text('until') },
        ];
    const letter: Letter = {
      to: email,
      kind: isTaken ? 'account-exists' : 'registration',
      rateLimit: 'anybody',
      tid,
      clientId,
      ...present({ person: holder, locale: wanted }),
      subject: text(`${name}.subject`),
      parts: [
        { part: 'text', text: text('greeting') },
        { part: 'text', text: text(`${name}.text`) },
        ...link,
        { part: 'note', text: 'sign-in.mail.ignore' },
      ],
    };
    await mail.send(letter);
    if (isTaken) await artifact(waitingRegistrations).remove(id);
  };
}

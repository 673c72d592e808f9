/**
 * Mails that notify users of changes to their account. A listener enqueues each event. The delivery looks up the person, the address, and whether the user
 * can sign in.
 */
import {
  type Account,
  type DeliveryHandler,
  type EventName,
  type ExtensionContext,
  type IdpEvent,
  type InLanguage,
  type Limit,
  type Mail,
  present,
} from '../../lib/extension-door.js';
import { type NotedChange, newBrowserLetter, noticeLetter, proofLetter } from './letters.js';
import { type DueNotice, NOTICE, sentNotices } from './records.js';

type EventData = Readonly<Record<string, unknown>>;

interface Notice {
  readonly name: string;
  /** Name of the last text of the mail. @default the text about a change */
  readonly note?: 'seen' | 'ended';
  /** Whether the mail names the client of the event. */
  readonly namesClient?: true;
  /** Whether the mail counts for the rate limit `frequent` of a letter. @default the rate limit `account` */
  readonly isFrequent?: true;
  /** Ids of the users who are notified. @default the user of the event */
  readonly usersOf?: (data: EventData) => readonly string[];
}

/** Members of notices of an end of access. A user of the account can cause many such notices. */
const ending = { note: 'ended', isFrequent: true } as const;

/** Texts of each event. */
const notices: Readonly<Record<string, Notice>> = {
  UserPasswordChanged: { name: 'password' },
  UserEmailChanged: { name: 'address' },
  UserProfileChanged: { name: 'profile', isFrequent: true },
  FactorAdded: { name: 'factorAdded' },
  FactorRemoved: { name: 'factorRemoved' },
  FactorCodesGuessed: { name: 'codesGuessed', note: 'seen' },
  UserIdentityAdded: { name: 'identityAdded' },
  UserIdentityRemoved: { name: 'identityRemoved' },
  UserIdentityConfirmed: { name: 'identityConfirmed' },
  UserClaimAdded: { name: 'linked', usersOf: childAndParent },
  UserClaimRemoved: { name: 'unlinked', usersOf: childAndParent },
  SessionEnded: { name: 'sessionEnded', ...ending },
  UserSignedOut: { name: 'signedOut', usersOf: signedOutUser, ...ending },
  ConsentWithdrawn: { name: 'withdrawn', namesClient: true, ...ending },
  UserSignedOutOfClient: { name: 'signedOutThere', namesClient: true, ...ending },
};

const userOfEvent = ({ AggregateId }: EventData): readonly string[] => [String(AggregateId)];

/** Returns nobody for a sign-out that a change of a credential required, because the mail about that change is enough. */
function signedOutUser(data: EventData): readonly string[] {
  return data.Reason === undefined ? userOfEvent(data) : [];
}

/** Returns both users of an account link, because the parent account is notified too. */
function childAndParent({ AggregateId, ClaimType, ClaimValue }: EventData): readonly string[] {
  return ClaimType === 'sub' ? [String(AggregateId), String(ClaimValue)] : [];
}

/** Event of a sign-in from a browser that the account does not know. */
const NEW_BROWSER = 'UserSignedInWithNewBrowser';

export function listenForChanges({ directory, service: { signInHistory }, work: { deliver } }: ExtensionContext): void {
  if (signInHistory.notify)
    directory.events.on(NEW_BROWSER, async ({ id: event, type, time, data: { AggregateId: oid, SignInId: signIn } }) => {
      const due: DueNotice = { event, type, oid, time, signIn };
      // The delivery is not released, because the event precedes the record of the sign-in by a moment.
      await deliver(NOTICE, { ...due });
    });
  for (const [type, { usersOf = userOfEvent }] of Object.entries(notices)) {
    directory.events.on(type as EventName, async (event: IdpEvent) => {
      // A seed creates accounts, so its events are no changes to their users.
      if (event.actor === 'seed') return;
      for (const oid of usersOf(event.data as never)) {
        const { Parts: parts, ClientId: clientId } = event.data as EventData;
        const due: DueNotice = {
          ...{ event: event.id, type, oid, time: event.time },
          ...(Array.isArray(parts) && { parts }),
          ...(typeof clientId === 'string' && { clientId }),
        };
        (await deliver(NOTICE, { ...due })).release();
      }
    });
  }
}

/** Returns the names of the changed parts of a profile. A part without a name is named in general, because an extension may have added the part. */
const partsIn = ({ parts = [] }: DueNotice, { pages: { texts } }: ExtensionContext): InLanguage => ({
  inLanguage(locale) {
    const words = texts(locale);
    const names = new Set(parts.map((part) => words[`passwords.mail.profile.${part}`] ?? words['passwords.mail.profile.other'] ?? part));
    return new Intl.ListFormat(locale).format(names);
  },
});

/** @param mail absent: the delivery notifies nobody, and removes former addresses */
export function createSendNotice(context: ExtensionContext, mail: Mail | undefined): DeliveryHandler {
  const {
    directory,
    records: { artifact },
  } = context;
  const [browserMails, endingMails] = [context.limits.limit('newBrowserMails'), context.limits.limit('endedAccessMails')];

  /** Sends one part of a notice, unless an earlier attempt of the delivery sent it. */
  async function once(part: string, send: () => Promise<void>): Promise<void> {
    if (await artifact(sentNotices).read(part)) return;
    await send();
    await artifact(sentNotices).put(part, {});
  }

  async function addressChanged({ event, oid, time }: DueNotice, account: Account): Promise<void> {
    const { person } = account;
    const { formerEmails = [] } = person.user;
    for (const address of formerEmails)
      if (mail)
        await once(`${event} ${address}`, () => mail.send(noticeLetter({ name: 'address', time: new Date(time), to: address }, account)));
    await directory.emailProofs.notified(oid, formerEmails);
    if (!mail || person.email === undefined || directory.accounts.provenEmailOf(person) === person.email) return;
    const due = await directory.emailProofs.begin(oid, { requestId: event });
    if (due) await once(`${event} proof`, () => mail.send(proofLetter(due)));
  }

  /** Notifies the user of a sign-in from an unknown browser. The browser and its system are named by the words of a table. */
  async function signedIn({ event, oid, time, signIn }: DueNotice, account: Account, to: string, mail: Mail): Promise<void> {
    const found = (await directory.signInHistory.list({ tid: account.tenant.id, userId: oid })).find(({ id }) => id === signIn);
    const browser = [found?.browser ?? [], found?.system ?? []].flat().join(', ');
    const letter = newBrowserLetter({ time: new Date(time), to, browser, href: sessionsUrl(context) }, account);
    // An attacker who knows the password must not use up the mails that the address gets in an hour.
    await once(`${event} ${oid}`, () => within(browserMails, oid, () => mail.send(letter)));
  }

  /** Returns the name of the client for a notice. Operators alone name clients, so the name is no text of a stranger. */
  async function clientIn({ namesClient }: Notice, { clientId = '' }: DueNotice): Promise<Pick<NotedChange, 'text' | 'client'>> {
    if (!namesClient) return {};
    const client = await directory.clients.get(clientId);
    return client ? { client: client.name } : { text: 'unnamed' };
  }

  return async ({ data }) => {
    const due = data as unknown as DueNotice;
    const account = await directory.accounts.findByOid(due.oid);
    // An invited user has never signed in, and is not notified.
    if (!account || account.person.user.status === 'invited') return;
    if (due.type === 'UserEmailChanged') return addressChanged(due, account);
    const to = directory.accounts.emailOf(account.person);
    if (due.type === NEW_BROWSER) return mail && to !== undefined ? signedIn(due, account, to, mail) : undefined;
    const notice = notices[due.type];
    if (!mail || to === undefined || !notice) return;
    const { note, isFrequent } = notice;
    const words = { name: notice.name, parts: partsIn(due, context), ...(await clientIn(notice, due)), ...present({ note, isFrequent }) };
    const about = { ...words, time: new Date(due.time), to };
    const send = () => mail.send(noticeLetter(about, account));
    await once(`${due.event} ${due.oid}`, () => (note === 'ended' ? within(endingMails, due.oid, send) : send()));
  };
}

/** Sends a mail, unless the account has reached the rate limit. A mail that was not sent does not count. */
async function within(limit: Limit, oid: string, send: () => Promise<void>): Promise<void> {
  const counted = await limit.attempt(oid);
  if (!counted.isOver) await counted.run(send);
}

/** Returns the URL of the page on which users end their sessions, or of the account page if there is no such page. */
const sessionsUrl = (context: ExtensionContext): string =>
  context.pages.accountSections.find(({ name }) => name === 'sessions')?.href(context) ??
  context.service.url(`${context.service.own}/account`);

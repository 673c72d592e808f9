/**
 * The mail that notifies users of an impersonation: who impersonates, of which organisation, when, for which application. The mail omits the reason, because
 * the reason is for the audit. A listener puts each start into the durable queue. The users and the address are read when the mail is sent.
 */
import {
  type Account,
  type ArtifactKind,
  type DeliveryHandler,
  type ExtensionContext,
  greetedName,
  type IdpEvent,
  type Letter,
  type Mail,
  shownName,
  utcTime,
} from '../../lib/extension-door.js';

/** Kind of the deliveries. */
export const NOTICE = 'impersonation.notice';
/** Impersonations whose mail was sent, so that a duplicate delivery sends no second mail. */
export const sentNotices: ArtifactKind = { name: 'impersonation.told', lifetimeSeconds: 172_800 };

/** Data of a delivery. The data are ids and times alone, because the queue is not encrypted. */
interface DueNotice {
  readonly id: string;
  readonly oid: string;
  readonly operatorId: string;
  readonly clientId: string;
  readonly startedAt: string;
  readonly endsAt: string;
}

export function listenForStarts({ directory, work: { deliver } }: ExtensionContext): void {
  directory.events.on('ImpersonationStarted', async ({ data }: IdpEvent<'ImpersonationStarted'>) => {
    const { ImpersonationId, AggregateId, OperatorId, ClientId, StartedAt, EndsAt } = data;
    const due: DueNotice = {
      id: ImpersonationId,
      oid: AggregateId,
      operatorId: OperatorId,
      clientId: ClientId,
      startedAt: StartedAt,
      endsAt: EndsAt,
    };
    (await deliver(NOTICE, { ...due })).release();
  });
}

export function createSendNotice(context: ExtensionContext, mail: Mail): DeliveryHandler {
  const {
    directory,
    records: { artifact },
  } = context;
  return async ({ data }) => {
    const due = data as unknown as DueNotice;
    const account = await directory.accounts.findByOid(due.oid);
    const address = account && directory.accounts.emailOf(account.person);
    if (!account || address === undefined || (await artifact(sentNotices).read(due.id))) return;
    const [operator, client] = await Promise.all([directory.accounts.findByOid(due.operatorId), directory.clients.get(due.clientId)]);
    await mail.send(noticeLetter(due, { address, account, operator, application: client?.name ?? due.clientId }));
    await artifact(sentNotices).put(due.id, {});
  };
}

interface About {
  readonly address: string;
  readonly account: Account;
  /** Account of the operator. Undefined if the account was removed since. */
  readonly operator: Account | undefined;
  readonly application: string;
}

function noticeLetter({ startedAt, endsAt }: DueNotice, { address, account: { person, tenant }, operator, application }: About): Letter {
  const values = {
    tenant: tenant.name,
    name: greetedName(person),
    userName: person.user.userName,
    operator: operator ? shownName(operator.person) : '',
    application,
    time: utcTime(new Date(startedAt)),
    ends: utcTime(new Date(endsAt)),
  };
  const textOf = (name: string) => ({ key: `impersonation.mail.${name}`, values });
  return {
    to: address,
    kind: 'impersonation',
    rateLimit: 'account',
    tid: tenant.id,
    person,
    subject: textOf('subject'),
    parts: [
      { part: 'text', text: textOf('greeting') },
      { part: 'text', text: textOf(operator ? 'text' : 'unnamed') },
      { part: 'text', text: textOf('ends') },
      { part: 'note', text: textOf('ask') },
    ],
  };
}

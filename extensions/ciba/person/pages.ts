/** The pages of the person who is asked: what asks for an answer, one request, and what became of it. */

import type { Context } from 'koa';
import type { Account, BrowserSignIn, Client, ExtensionContext, Look, ScopeWords, Text, ViewPart } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import type { AuthenticationRequest } from '../requests/record.js';
import { renderMessage } from './binding-message.js';
import { inboxScript } from './inbox-script.js';
import { fromNow } from './times.js';

/** A request and the client that it is of. */
export interface AskedBy {
  readonly request: AuthenticationRequest;
  readonly client: Client;
}

/** A request as its person sees it. */
export interface Shown extends AskedBy {
  readonly account: Account;
  /** Scopes that the client needs consent for. */
  readonly missing: readonly ({ readonly name: string } & ScopeWords)[];
  /** Whether the sign-in is recent enough, and of the strength that is asked for. */
  readonly canApprove: boolean;
  /** The person signed in for it just now, and that was not enough. */
  readonly isInsufficient?: boolean;
}

/** Paths of the pages, below the issuer. */
export const inboxPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/ciba`;
export const requestPath = (service: Pick<ExtensionContext['service'], 'own'>, id: string): string =>
  `${inboxPath(service)}/requests/${id}`;

/** What the form is about. */
export const formSubject = (id: string, { session }: Pick<BrowserSignIn, 'session'>): string => `ciba ${id} ${session}`;

export function createPages(context: Pick<ExtensionContext, 'service' | 'pages'>) {
  const {
    service: { now, url },
    pages: { view },
  } = context;
  const inbox = url(inboxPath(context.service));
  const addressOf = (id: string): string => url(requestPath(context.service, id));
  const toInbox: ViewPart = { part: 'link', text: 'ciba.inbox.back', href: inbox };

  /** A page that says one thing. */
  const message = (
    ctx: Context,
    look: Look,
    name: string,
    values: Readonly<Record<string, string>>,
    { status = 200, parts = [toInbox], uiLocales }: { status?: number; parts?: readonly ViewPart[]; uiLocales?: string | undefined } = {},
  ): Promise<void> => {
    const said = (which: string): Text => ({ key: `ciba.${name}.${which}`, values });
    return view(ctx, {
      ...look,
      ...present({ uiLocales }),
      title: said('title'),
      status,
      parts: [{ part: 'text', text: said('text') }, ...parts],
    });
  };

  const namesOf = ({ tenant, person: { user } }: Account): Record<string, string> => ({ tenant: tenant.name, userName: user.userName });

  return {
    inbox: (ctx: Context, account: Account, requests: readonly AskedBy[]): Promise<void> =>
      view(ctx, {
        tenant: account.tenant,
        title: 'ciba.inbox.title',
        lead: { key: 'ciba.inbox.lead', values: namesOf(account) },
        parts: [
          requests.length === 0
            ? { part: 'text', text: 'ciba.inbox.none' }
            : {
                part: 'links',
                links: requests.map(({ client, request }) => ({
                  title: { plain: client.name },
                  lines: [fromNow(request.createdAt, now())],
                  href: addressOf(request.id),
                })),
              },
          { part: 'link', text: 'ciba.inbox.again', href: inbox },
        ],
        ...(requests.length === 0 ? { script: inboxScript } : {}),
      }),

    request(ctx: Context, here: Pick<BrowserSignIn, 'session'>, shown: Shown): Promise<void> {
      const { request, client, account, missing, canApprove, isInsufficient = false } = shown;
      const { id, bindingMessage, messageFormat, initiator, createdAt, expiresAt, uiLocales } = request;
      const of = (key: string): Text => ({ key: `ciba.${key}`, values: { client: client.name } });
      const { person, tenant } = account;
      return view(ctx, {
        client,
        tenant,
        ...present({ uiLocales }),
        title: of('title'),
        ...(isInsufficient ? { problem: 'ciba.insufficient' } : {}),
        form: {
          // What the person is shown to consent to is what the form allows.
          action: `${addressOf(id)}?${new URLSearchParams({ listed: missing.map(({ name }) => name).join(' ') })}`,
          subject: formSubject(id, here),
        },
        parts: [
          bindingMessage === undefined
            ? { part: 'text', text: of('noMessage') }
            : { part: 'quote', label: of('match'), quote: renderMessage(bindingMessage, messageFormat) },
          { part: 'text', text: of(`began.${initiator}`) },
          {
            part: 'facts',
            facts: [
              { label: 'ciba.fact.account', value: { plain: person.user.userName } },
              { label: 'ciba.fact.tenant', value: { plain: tenant.name } },
              { label: 'ciba.fact.asked', value: fromNow(createdAt, now()) },
              { label: 'ciba.fact.ends', value: fromNow(expiresAt, now()) },
            ],
          },
          ...(missing.length === 0 ? [] : [{ part: 'scopes', label: of('scopes'), scopes: missing } as const]),
          ...(canApprove ? [] : [{ part: 'text', text: 'ciba.signIn.why' } as const]),
          { part: 'button', text: canApprove ? 'ciba.approve' : 'ciba.signIn', name: 'decision', value: 'approve' },
          { part: 'button', text: 'ciba.deny', name: 'decision', value: 'deny', look: 'quiet' },
          { part: 'button', text: 'ciba.unrecognise', name: 'decision', value: 'unrecognise', look: 'quiet' },
        ],
      });
    },

    /** For who is not signed in completely: nothing of the request, and nothing of its person. */
    unfinished: (ctx: Context, here: Pick<BrowserSignIn, 'session'>, id: string): Promise<void> =>
      view(ctx, {
        title: 'ciba.unfinished.title',
        form: { action: addressOf(id), subject: formSubject(id, here) },
        parts: [
          { part: 'text', text: 'ciba.unfinished.text' },
          { part: 'button', text: 'ciba.unfinished.continue', name: 'decision', value: 'continue' },
          { part: 'button', text: 'ciba.deny', name: 'decision', value: 'deny', look: 'quiet' },
          { part: 'button', text: 'ciba.unrecognise', name: 'decision', value: 'unrecognise', look: 'quiet' },
        ],
      }),

    /** For who is not signed in completely. */
    denied: (ctx: Context, denial: 'declined' | 'unrecognised'): Promise<void> =>
      view(ctx, { title: `ciba.${denial}.title`, parts: [{ part: 'text', text: `ciba.unfinished.${denial}` }, toInbox] }),

    /** A request that takes no answer any more. */
    over(ctx: Context, account: Account, { request, client }: AskedBy): Promise<void> {
      const { state, denial = 'declined', uiLocales } = request;
      const values = { client: client.name, tenant: account.tenant.name };
      const name = state === 'denied' ? denial : state;
      return message(ctx, { client, tenant: account.tenant }, name, values, { uiLocales });
    },

    /** A client that may not sign the person in any more. */
    refused: (ctx: Context, account: Account, { client }: Pick<AskedBy, 'client'>): Promise<void> =>
      message(ctx, { tenant: account.tenant }, 'refused', { client: client.name }, { status: 403 }),

    gone: (ctx: Context, account: Account): Promise<void> => message(ctx, { tenant: account.tenant }, 'gone', {}, { status: 404 }),

    /** The browser is signed in as somebody else than who is asked. */
    other: (ctx: Context, account: Account, id: string): Promise<void> =>
      message(ctx, { tenant: account.tenant }, 'other', namesOf(account), {
        status: 403,
        parts: [{ part: 'link', text: 'ciba.other.signIn', href: `${addressOf(id)}/sign-in` }, toInbox],
      }),

    /** A form that is not from our page of this browser. */
    lost: (ctx: Context, account: Account, id: string): Promise<void> =>
      message(
        ctx,
        { tenant: account.tenant },
        'lost',
        {},
        { status: 403, parts: [{ part: 'link', text: 'ciba.again', href: addressOf(id) }] },
      ),

    /** The browser came back without a sign-in. */
    unsigned: (ctx: Context): Promise<void> =>
      message(ctx, {}, 'unsigned', {}, { status: 403, parts: [{ part: 'link', text: 'ciba.unsigned.again', href: inbox }] }),
  };
}

/** Pages on which a user answers requests: the inbox, one request, and its outcome. */

import type { Context } from 'koa';
import type {
  Account,
  BrowserSignIn,
  Client,
  ExtensionContext,
  InLanguage,
  Look,
  ScopeWords,
  Text,
  View,
  ViewPart,
} from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import type { AuthenticationRequest } from '../requests/record.js';
import { isCode, renderMessage } from './binding-message.js';
import { countdownScript } from './countdown-script.js';
import { inboxScript } from './inbox-script.js';
import { fromNow } from './times.js';

/** A request and its client. */
export interface RequestOfClient {
  readonly request: AuthenticationRequest;
  readonly client: Client;
}

/** A request as its user sees it. */
export interface Shown extends RequestOfClient {
  readonly account: Account;
  /** Scopes for which the client needs consent. */
  readonly missing: readonly ({ readonly name: string } & ScopeWords)[];
  /** Whether the sign-in is recent enough and has the requested strength. */
  readonly canApprove: boolean;
  /** Whether the user has just signed in for the request, and the sign-in was not sufficient. */
  readonly isInsufficient?: boolean;
}

/** Returns the path of the inbox, below the issuer. */
export const inboxPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/ciba`;
export const requestPath = (service: Pick<ExtensionContext['service'], 'own'>, id: string): string =>
  `${inboxPath(service)}/requests/${id}`;

/** Returns the subject of the form of a request. */
export const formSubject = (id: string, { session }: Pick<BrowserSignIn, 'session'>): string => `ciba ${id} ${session}`;

type PagesContext = Pick<ExtensionContext, 'service' | 'pages'>;

export const createPages = (context: PagesContext): Pages => new Pages(context);

export class Pages {
  readonly #context: PagesContext;

  constructor(context: PagesContext) {
    this.#context = context;
  }

  inbox(ctx: Context, account: Account, requests: readonly RequestOfClient[]): Promise<void> {
    return this.#view(ctx, {
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
                lines: [this.#fromNow(request.createdAt)],
                href: this.#addressOf(request.id),
              })),
            },
        { part: 'link', text: 'ciba.inbox.again', href: this.#inboxAddress() },
      ],
      ...(requests.length === 0 ? { script: inboxScript } : {}),
    });
  }

  request(ctx: Context, here: Pick<BrowserSignIn, 'session'>, shown: Shown): Promise<void> {
    const { request, client, account, missing, canApprove, isInsufficient = false } = shown;
    const { id, bindingMessage, messageFormat, initiator, createdAt, expiresAt, uiLocales } = request;
    const ofClient = (key: string): Text => ({ key: `ciba.${key}`, values: { client: client.name } });
    const { person, tenant } = account;
    return this.#view(ctx, {
      client,
      tenant,
      ...present({ uiLocales }),
      title: ofClient('title'),
      ...(isInsufficient ? { problem: 'ciba.insufficient' } : {}),
      form: {
        // The form allows only the scopes that the page shows.
        action: `${this.#addressOf(id)}?${new URLSearchParams({ listed: missing.map(({ name }) => name).join(' ') })}`,
        subject: formSubject(id, here),
      },
      parts: [
        bindingMessage === undefined
          ? { part: 'text', text: ofClient('noMessage') }
          : {
              part: 'quote',
              label: ofClient('match'),
              quote: renderMessage(bindingMessage, messageFormat),
              isCode: isCode(bindingMessage, messageFormat),
            },
        { part: 'text', text: ofClient(`began.${initiator}`) },
        {
          part: 'facts',
          facts: [
            { label: 'ciba.fact.account', value: { plain: person.user.userName } },
            { label: 'ciba.fact.tenant', value: { plain: tenant.name } },
            { label: 'ciba.fact.asked', value: this.#fromNow(createdAt) },
            { label: 'ciba.fact.ends', value: this.#fromNow(expiresAt), seconds: this.#secondsUntil(expiresAt) },
          ],
        },
        ...(missing.length === 0 ? [] : [{ part: 'scopes', label: ofClient('scopes'), scopes: missing } as const]),
        ...(canApprove ? [] : [{ part: 'text', text: 'ciba.signIn.why' } as const]),
        { part: 'button', text: canApprove ? 'ciba.approve' : 'ciba.signIn', name: 'decision', value: 'approve' },
        ...denyButtons,
      ],
      script: countdownScript,
    });
  }

  /** Shows the page for an incomplete sign-in. The page shows nothing about the request and nothing about its user. */
  unfinished(ctx: Context, here: Pick<BrowserSignIn, 'session'>, id: string): Promise<void> {
    return this.#view(ctx, {
      title: 'ciba.unfinished.title',
      form: { action: this.#addressOf(id), subject: formSubject(id, here) },
      parts: [
        { part: 'text', text: 'ciba.unfinished.text' },
        { part: 'button', text: 'ciba.unfinished.continue', name: 'decision', value: 'continue' },
        ...denyButtons,
      ],
    });
  }

  /** Shows an incomplete sign-in that the request was denied. */
  denied(ctx: Context, denial: 'declined' | 'unrecognised'): Promise<void> {
    const parts: readonly ViewPart[] = [{ part: 'text', text: `ciba.unfinished.${denial}` }, this.#toInbox()];
    return this.#view(ctx, { title: `ciba.${denial}.title`, parts });
  }

  /** Shows a request that was decided, was replaced or has expired. */
  over(ctx: Context, account: Account, { request, client }: RequestOfClient): Promise<void> {
    const { state, denial = 'declined', uiLocales } = request;
    const values = { client: client.name, tenant: account.tenant.name };
    const name = state === 'denied' ? denial : state;
    return this.#message(ctx, { client, tenant: account.tenant }, name, values, { uiLocales });
  }

  /** Shows that the client may no longer sign the user in. */
  refused(ctx: Context, account: Account, { client }: Pick<RequestOfClient, 'client'>): Promise<void> {
    return this.#message(ctx, { tenant: account.tenant }, 'refused', { client: client.name }, { status: 403 });
  }

  gone(ctx: Context, account: Account): Promise<void> {
    return this.#message(ctx, { tenant: account.tenant }, 'gone', {}, { status: 404 });
  }

  /** Shows that the request is for another account than the browser's. */
  other(ctx: Context, account: Account, id: string): Promise<void> {
    const parts: readonly ViewPart[] = [
      { part: 'link', text: 'ciba.other.signIn', href: `${this.#addressOf(id)}/sign-in` },
      this.#toInbox(),
    ];
    return this.#message(ctx, { tenant: account.tenant }, 'other', namesOf(account), { status: 403, parts });
  }

  /** Refuses a form that did not come from this page in this browser. */
  lost(ctx: Context, account: Account, id: string): Promise<void> {
    const parts: readonly ViewPart[] = [{ part: 'link', text: 'ciba.again', href: this.#addressOf(id) }];
    return this.#message(ctx, { tenant: account.tenant }, 'lost', {}, { status: 403, parts });
  }

  /** Shows that the browser returned without a sign-in. */
  unsigned(ctx: Context): Promise<void> {
    const parts: readonly ViewPart[] = [{ part: 'link', text: 'ciba.unsigned.again', href: this.#inboxAddress() }];
    return this.#message(ctx, {}, 'unsigned', {}, { status: 403, parts });
  }

  /** Shows a page with one message. */
  #message(
    ctx: Context,
    look: Look,
    name: string,
    values: Readonly<Record<string, string>>,
    {
      status = 200,
      parts = [this.#toInbox()],
      uiLocales,
    }: { status?: number; parts?: readonly ViewPart[]; uiLocales?: string | undefined },
  ): Promise<void> {
    const text = (member: 'title' | 'text'): Text => ({ key: `ciba.${name}.${member}`, values });
    return this.#view(ctx, {
      ...look,
      ...present({ uiLocales }),
      title: text('title'),
      status,
      parts: [{ part: 'text', text: text('text') }, ...parts],
    });
  }

  #view(ctx: Context, view: View): Promise<void> {
    return this.#context.pages.view(ctx, view);
  }

  #fromNow(date: Date): InLanguage {
    return fromNow(date, this.#context.service.now());
  }

  #secondsUntil(date: Date): number {
    return Math.max(0, Math.floor((date.getTime() - this.#context.service.now()) / 1000));
  }

  #inboxAddress(): string {
    const { service } = this.#context;
    return service.url(inboxPath(service));
  }

  #addressOf(id: string): string {
    const { service } = this.#context;
    return service.url(requestPath(service, id));
  }

  #toInbox(): ViewPart {
    return { part: 'link', text: 'ciba.inbox.back', href: this.#inboxAddress() };
  }
}

const denyButtons: readonly ViewPart[] = [
  { part: 'button', text: 'ciba.deny', name: 'decision', value: 'deny', look: 'quiet' },
  { part: 'button', text: 'ciba.unrecognise', name: 'decision', value: 'unrecognise', look: 'warning' },
];

const namesOf = ({ tenant, person: { user } }: Account): Record<string, string> => ({ tenant: tenant.name, userName: user.userName });

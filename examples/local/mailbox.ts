/** What the identity provider mails, kept in place of being sent, and the pages that show it. */
import Router from '@koa/router';
import type { MailMessage } from 'tenant-idp';
import { type Letter, letterPage, mailPage } from './views/mail.js';

export interface Mailbox {
  readonly keep: (message: MailMessage) => Promise<void>;
  /** The newest first. */
  readonly letters: () => readonly Letter[];
}

/** As many as anybody wants to look through. */
const MOST = 100;

export function createMailbox(): Mailbox {
  let letters: readonly Letter[] = [];
  return {
    async keep(message) {
      letters = [{ ...message, number: (letters[0]?.number ?? 0) + 1, at: new Date() }, ...letters].slice(0, MOST);
    },
    letters: () => letters,
  };
}

export const createMailPages = ({ letters }: Mailbox): Router =>
  new Router()
    .get('/mail', (ctx) => {
      ctx.body = mailPage(letters());
    })
    .get('/mail/:number', async (ctx, next) => {
      const letter = letters().find(({ number }) => String(number) === ctx.params.number);
      if (!letter) return next();
      ctx.body = letterPage(letter);
    });

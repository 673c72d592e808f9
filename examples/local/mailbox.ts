/** Mails of the identity provider, and the pages that show the mails. The demo stores the mails instead of sending them. */
import Router from '@koa/router';
import type { MailMessage } from 'tenant-idp';
import { type Letter, letterPage, mailPage } from './views/mail.js';

export interface Mailbox {
  readonly keep: (message: MailMessage) => Promise<void>;
  /** Returns mails, newest first. */
  readonly letters: () => readonly Letter[];
}

/** Maximum mails in the mailbox. */
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

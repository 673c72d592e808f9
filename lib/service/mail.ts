/** The host's mail, for extensions: how often, how long, and in whose look. */
import type { ExtensionPages } from '../contract/context/pages.js';
import type { Limit } from '../contract/limit.js';
import type { Mail, WriteLetter } from '../contract/pages/letter.js';
import type { Logger } from '../logger.js';
import type { MailOptions } from '../options/options.js';
import { comparedAddress } from '../text/compared.js';
import { isEmailAddress } from '../text/email-address.js';
import { withTimeLimit } from '../times/time-limit.js';

/** Milliseconds that the host has to take one; less than a delivery may take. */
const TIMEOUT_MS = 30_000;

interface MailParts extends Pick<ExtensionPages, 'brandingOf'> {
  /** Mails that one address gets, and how many. */
  readonly limit: Limit;
  readonly most: number;
  readonly options: MailOptions;
  readonly write: WriteLetter;
  readonly logger: Logger;
}

export function createMail({ options, write, limit, most, brandingOf, logger }: MailParts): Mail {
  return {
    async send(letter) {
      const { to, kind, tid, clientId } = letter;
      // A stored address may be older than the rule. Without this, the delivery would be retried in vain.
      if (!isEmailAddress(to)) return logger.warn({ kind, tid }, 'a mail was not sent, because the record has no valid e-mail address');
      const counted = await limit.attempt(comparedAddress(to));
      if (counted.isOver) {
        await counted.giveBack();
        throw new Error(`the address got ${most} mails in the last hour`);
      }
      try {
        const message = write(letter, await brandingOf(tid, clientId));
        await withTimeLimit(TIMEOUT_MS, () => options.send(message));
      } catch (err) {
        await counted.giveBack();
        logger.warn({ err, kind, tid }, 'the host did not take a mail; another attempt follows');
        // The queue keeps what this says, and the host's own words may be about the person.
        throw new Error('the host did not take the mail');
      }
    },
  };
}

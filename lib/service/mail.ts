/** The host's mail, for extensions: how often, how long, and in whose look. */
import type { ExtensionLimits } from '../contract/context/limits.js';
import type { ExtensionPages } from '../contract/context/pages.js';
import type { Mail, WriteLetter } from '../contract/pages/letter.js';
import type { Logger } from '../logger.js';
import type { MailOptions } from '../options/options.js';
import { comparedAddress } from '../text/compared.js';
import { isEmailAddress } from '../text/email-address.js';
import { withTimeLimit } from '../times/time-limit.js';

const HOUR_MS = 3_600_000;
/** Mails that one address gets in an hour. */
const MOST = 5;
/** Milliseconds that the host has to take one; less than a delivery may take. */
const TIMEOUT_MS = 30_000;

interface MailParts extends Pick<ExtensionLimits, 'attempts'>, Pick<ExtensionPages, 'brandingOf'> {
  readonly options: MailOptions;
  readonly write: WriteLetter;
  readonly logger: Logger;
}

export function createMail({ options, write, attempts, brandingOf, logger }: MailParts): Mail {
  return {
    async send(letter) {
      const { to, kind, tid, clientId } = letter;
      // A stored address may be older than the rule. Without this, the delivery would be retried in vain.
      if (!isEmailAddress(to)) return logger.warn({ kind, tid }, 'a mail was not sent, because the record has no valid e-mail address');
      const counter = JSON.stringify(['mail', comparedAddress(to)]);
      const uncount = () => attempts(counter, HOUR_MS, -1);
      const { count } = await attempts(counter, HOUR_MS);
      if (count > MOST) {
        await uncount();
        throw new Error(`the address got ${MOST} mails in the last hour`);
      }
      try {
        const message = write(letter, await brandingOf(tid, clientId));
        await withTimeLimit(TIMEOUT_MS, () => options.send(message));
      } catch (err) {
        await uncount();
        logger.warn({ err, kind, tid }, 'the host did not take a mail; another attempt follows');
        // The queue keeps what this says, and the host's own words may be about the person.
        throw new Error('the host did not take the mail');
      }
    },
  };
}

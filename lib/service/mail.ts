/** The host's mail for extensions, with its rate limit, its time-out and its look. */
import type { ExtensionPages } from '../contract/context/pages.js';
import type { Limit } from '../contract/limit.js';
import type { LetterLimit, Mail, WriteLetter } from '../contract/pages/letter.js';
import type { Logger } from '../logger.js';
import type { MailOptions } from '../options/options.js';
import { comparedAddress } from '../text/compared.js';
import { isEmailAddress } from '../text/email-address.js';
import { withTimeLimit } from '../times/time-limit.js';

/** Maximum milliseconds for the host to accept a mail: less than a delivery may take. */
const TIMEOUT_MS = 30_000;

interface MailParts extends Pick<ExtensionPages, 'brandingOf'> {
  readonly limits: Readonly<Record<LetterLimit, Limit>>;
  readonly options: MailOptions;
  readonly write: WriteLetter;
  readonly logger: Logger;
}

export function createMail({ options, write, limits, brandingOf, logger }: MailParts): Mail {
  return {
    async send(letter) {
      const { to, kind, tid, clientId, rateLimit } = letter;
      // A stored address may be older than the rule. If this check were missing, the delivery would be retried in vain.
      if (!isEmailAddress(to))
        return logger.warn({ kind, tid }, 'the service did not send a mail, because the record has no valid e-mail address');
      const address = comparedAddress(to);
      const counted = await limits[rateLimit].attempt(address, ...(rateLimit === 'anybody' ? [] : [tid]));
      if (counted.isOver) {
        await counted.giveBack();
        if (rateLimit === 'frequent')
          return logger.warn(
            { kind, tid },
            'the service did not send a mail, because the address got too many mails of the tenant in the last hour',
          );
        throw new Error('the address got too many mails in the last hour');
      }
      try {
        const message = write(letter, await brandingOf(tid, clientId));
        await withTimeLimit(TIMEOUT_MS, () => options.send(message));
      } catch (err) {
        await counted.giveBack();
        logger.warn({ err, kind, tid }, 'the host failed to send a mail, and the service retries');
        // The queue stores this message, and the host's own error may contain personal data.
        throw new Error('the host did not take the mail');
      }
    },
  };
}

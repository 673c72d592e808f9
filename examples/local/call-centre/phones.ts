/** What the identity provider would have sent to people's phones, kept in place of being sent. */
import type { CibaNotification } from 'tenant-idp';

export interface Phones {
  /** The option `ciba.notify`: a host hands the notification to its push service here. */
  readonly notify: (notification: CibaNotification) => void;
  /** The newest first. */
  readonly of: (userName: string) => readonly CibaNotification[];
}

const MOST = 20;

export function createPhones(): Phones {
  let all: readonly CibaNotification[] = [];
  return {
    notify(notification) {
      // One that comes again is the same.
      all = [notification, ...all.filter(({ id }) => id !== notification.id)].slice(0, MOST);
    },
    of: (userName) => all.filter((one) => one.userName === userName && one.expiresAt.getTime() > Date.now()),
  };
}

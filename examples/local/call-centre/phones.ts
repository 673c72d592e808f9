/** Notifications for users' phones. The demo stores these notifications instead of sending them. */
import type { CibaNotification } from 'tenant-idp';

export interface Phones {
  /** Stores a notification: the option `ciba.notify`. A real host gives the notification to its push service here. */
  readonly notify: (notification: CibaNotification) => void;
  /** Returns notifications, newest first. */
  readonly of: (userName: string) => readonly CibaNotification[];
}

const MOST = 20;

export function createPhones(): Phones {
  let all: readonly CibaNotification[] = [];
  return {
    notify(notification) {
      // A notification that is sent again replaces the first notification.
      all = [notification, ...all.filter(({ id }) => id !== notification.id)].slice(0, MOST);
    },
    of: (userName) => all.filter((one) => one.userName === userName && one.expiresAt.getTime() > Date.now()),
  };
}

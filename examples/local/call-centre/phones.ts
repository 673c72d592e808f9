/** Notifications for people's phones, which the demo stores instead of sending them. */
import type { CibaNotification } from 'tenant-idp';

export interface Phones {
  /** The option `ciba.notify`. A real host gives the notification to its push service here. */
  readonly notify: (notification: CibaNotification) => void;
  /** Returns notifications, newest first. */
  readonly of: (userName: string) => readonly CibaNotification[];
}

const MOST = 20;

export function createPhones(): Phones {
  let all: readonly CibaNotification[] = [];
  return {
    notify(notification) {
      // A notification that is sent again replaces the first.
      all = [notification, ...all.filter(({ id }) => id !== notification.id)].slice(0, MOST);
    },
    of: (userName) => all.filter((one) => one.userName === userName && one.expiresAt.getTime() > Date.now()),
  };
}

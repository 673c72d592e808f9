import type { EventListener, EventName, IdpEvent } from '../events.js';
import type { Logger } from '../logger.js';

export interface Events {
  /** @returns what stops the listener. */
  on<Name extends EventName>(name: Name, listener: EventListener<Name>): () => void;
  /** Calls the listeners in the order they came, and waits for none. One that fails is logged and stops no other. */
  emit(event: IdpEvent): void;
}

export function createEvents(logger: Logger): Events {
  const listeners = new Map<EventName, Set<EventListener<EventName>>>();

  const call = async (listener: EventListener<EventName>, event: IdpEvent) => {
    try {
      await listener(event);
    } catch (error) {
      logger.error({ err: error, event: event.type }, 'event listener failed');
    }
  };

  return {
    on(name, listener) {
      // Its own function, so that the same listener given twice is called twice, and stopped one at a time.
      const entry: EventListener<EventName> = (event) => listener(event as IdpEvent<typeof name>);
      const entries = listeners.get(name) ?? new Set();
      listeners.set(name, entries.add(entry));
      return () => entries.delete(entry);
    },
    emit(event) {
      for (const listener of [...(listeners.get(event.type) ?? [])]) void call(listener, event);
    },
  };
}

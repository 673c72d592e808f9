/** CIBA Core §10.2, threat D8: a ping that the client did not accept is retried until its request expires. */
import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../../support/client/ciba/call-centre.js';
import { backToPresent } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

/** The notification endpoint of a client. Each attempt is a connection, which is closed immediately. */
interface Endpoint {
  readonly address: string;
  readonly server: Server;
  attempts: number;
}

const endpoints: Endpoint[] = [];
async function endpoint(): Promise<Endpoint> {
  const server = createServer((socket) => {
    made.attempts += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const made: Endpoint = { server, address: `127.0.0.1:${(server.address() as { port: number }).port}`, attempts: 0 };
  endpoints.push(made);
  return made;
}
const [short, long] = [await endpoint(), await endpoint()];

const pinged = (id: string, { address }: Endpoint) =>
  cibaClient(id, {
    metadata: { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: `https://${address}/ping` },
  });
const service = useCallCentre({
  seed: withClients(pinged('short', short), pinged('long', long)),
  outgoing: { allowHosts: endpoints.map(({ address }) => address) },
});
afterEach(backToPresent);
afterAll(() => {
  for (const { server } of endpoints) server.close();
});

test('no ping is sent past the end of its request', async () => {
  const calls = callsTo(service);
  const client_notification_token = 'token';
  await calls.approved({ client_notification_token, requested_expiry: '3' }, 'short', 'bob@globex.test');
  await calls.approved({ client_notification_token }, 'long', 'carol@acme.test');
  await until(() => short.attempts === 1 && long.attempts === 1);
  // Both pings are due again after a second, which has not passed yet.
  let seconds = 3;
  const attemptsOfLong = (count: number) =>
    until(
      () => {
        seconds += 1;
        laterInTest(seconds);
        return long.attempts >= count;
      },
      Boolean,
      500,
    );
  await attemptsOfLong(3);
  expect(short.attempts).toBe(1);
});

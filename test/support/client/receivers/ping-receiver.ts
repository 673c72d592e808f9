/** Receiver of notifications to a client of CIBA, over TLS with a certificate of the tests' own CA. @see CIBA Core §10.2 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** CA of the certificate below. The private key of the CA was not kept. */
const ca = `-----BEGIN CERTIFICATE-----
MIIBozCCAUmgAwIBAgIUelaiVIPrGic/bfVvumb+QIFX/MswCgYIKoZIzj0EAwIw
HjEcMBoGA1UEAwwTVGVzdHMgb2YgdGVuYW50LWlkcDAgFw0yNjExMjMwNzQxMzFa
GA8yMTI2MTAzMDA3NDEzMVowHjEcMBoGA1UEAwwTVGVzdHMgb2YgdGVuYW50LWlk
cDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDl+sYypOiKhu9VgXl+NtzrYxFTM
7vc4+gk3OlooW1BZlj6h83rrmTciYsaJM+pQVcnwrGDRvSRalOFGSuJoD0CjYzBh
MB0GA1UdDgQWBBSmZSVRDhAQwrOeqOqxdSUSo0iRQzAfBgNVHSMEGDAWgBSmZSVR
DhAQwrOeqOqxdSUSo0iRQzAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIC
BDAKBggqhkjOPQQDAgNIADBFAiEA5EtY+jVDghsO/ZthWmPydYFAGwHLQ2ZQdJbf
YPclAswCIFbkZLc0soJsh4qmD5bCS5a6VcBDSCqXf6HIlKWBmJ3q
-----END CERTIFICATE-----
`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBtzCCAV6gAwIBAgIUXfz0bOuDWrNcVVdmtwrmer2NqjcwCgYIKoZIzj0EAwIw
HjEcMBoGA1UEAwwTVGVzdHMgb2YgdGVuYW50LWlkcDAgFw0yNjExMjMwNzQxMzFa
GA8yMTI2MTAzMDA3NDEzMVowFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEjhi8Ii+WL/KeuXsPoT4WwwGWVuc5zKm6BOHn0Fz+
W6AFqfWhCq6U+EUXgDoBfb+CMAda6VcSHuhkxMeVB+dZ7KOBgTB/MBoGA1UdEQQT
MBGHBH8AAAGCCWxvY2FsaG9zdDAMBgNVHRMBAf8EAjAAMBMGA1UdJQQMMAoGCCsG
AQUFBwMBMB0GA1UdDgQWBBQKTA7HD9r4eszsyzD9YhxGyWIonDAfBgNVHSMEGDAW
gBSmZSVRDhAQwrOeqOqxdSUSo0iRQzAKBggqhkjOPQQDAgNHADBEAiAbCU+JbJdQ
EyUYpOOXKuU+AEnyGfVhVpbld7280C1uZwIgZy4DlJxBbAOFcmp0a2mH3SWUE0s9
Hb+ZgBzsALeb0Hs=
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsopn6SDMksTyFQkX
3kj7Vu57arB+LxW1sONbOxhvbFOhRANCAASOGLwiL5Yv8p65ew+hPhbDAZZW5znM
qboE4efQXP5boAWp9aEKrpT4RReAOgF9v4IwB1rpVxIe6GTEx5UH51ns
-----END PRIVATE KEY-----
`;

export interface Ping {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

export interface PingReceiver {
  /** `https://127.0.0.1:…` */
  readonly origin: string;
  /** Notifications in the order of their arrival. */
  readonly pings: readonly Ping[];
  /** Sets the answer at a path. @default 204 */
  answer(path: string, how: (request: IncomingMessage, response: ServerResponse) => void): void;
  close(): void;
}

export async function startPingReceiver(): Promise<PingReceiver> {
  const pings: Ping[] = [];
  const answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const server = createServer({ cert, key }, async (request, response) => {
    const { url: path = '', headers } = request;
    pings.push({
      path,
      authorization: headers.authorization,
      contentType: headers['content-type'],
      body: JSON.parse((await text(request)) || 'null'),
    });
    const answer = answers.get(path) ?? (() => response.writeHead(204).end());
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pings,
    answer: (path, how) => void answers.set(path, how),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Makes processes that start from now on trust the tests' CA. @returns a function that ends this trust. */
export function trustTestCa(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'ca-'));
  const before = process.env.NODE_EXTRA_CA_CERTS;
  writeFileSync(join(folder, 'ca.pem'), ca);
  process.env.NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem');
  return () => {
    if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
    else process.env.NODE_EXTRA_CA_CERTS = before;
    rmSync(folder, { recursive: true });
  };
}

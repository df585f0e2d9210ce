import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';

/** What a test asks of a span. Ids in hex. */
export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  seconds: number;
  /** Span ids of its links; all lead into its own trace, or the id of the other trace stands in front. */
  links: string[];
};

/** An OTLP receiver that keeps what it was sent. Texts stand in the clear in its binary form. */
export async function startReceiver() {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    text: () => Buffer.concat(bodies).toString('latin1'),
    spans: () => bodies.flatMap(spansOf),
  };
}

type Field = { number: number; bytes: Buffer; value: bigint };

/** The fields of one protobuf message. */
function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(message[at] ?? 0);
      at += 1;
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) {
      yield { number: tag >> 3, bytes: Buffer.alloc(0), value: varint() };
      continue;
    }
    const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4;
    const bytes = message.subarray(at, at + length);
    at += length;
    yield { number: tag >> 3, bytes, value: wire === 1 ? bytes.readBigUInt64LE() : 0n };
  }
}

/** Export request → resource spans → scope spans → spans, by their numbers in OTLP's protobuf files. */
function spansOf(request: Buffer): ReceivedSpan[] {
  const inside = (message: Buffer, number: number): Buffer[] =>
    [...fieldsOf(message)].flatMap((field) => (field.number === number ? [field.bytes] : []));
  return inside(request, 1)
    .flatMap((resource) => inside(resource, 2))
    .flatMap((scope) => inside(scope, 2))
    .map((span) => {
      const fields = [...fieldsOf(span)];
      const one = (number: number): Field | undefined =>
        fields.find((field) => field.number === number);
      const hex = (number: number): string => one(number)?.bytes.toString('hex') ?? '';
      const traceId = hex(1);
      const links = inside(span, 13).map((link) => {
        const [trace, linked] = [1, 2].map((number) => inside(link, number)[0]?.toString('hex'));
        return trace === traceId ? (linked ?? '') : `${trace}/${linked}`;
      });
      return {
        ...{ traceId, spanId: hex(2), parentSpanId: hex(4), links },
        name: one(5)?.bytes.toString('utf8') ?? '',
        seconds: Number((one(8)?.value ?? 0n) - (one(7)?.value ?? 0n)) / 1e9,
      };
    });
}

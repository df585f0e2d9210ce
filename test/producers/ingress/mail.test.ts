import { expect, test } from 'vitest';
import { ADAPTERS, type Mapped, type Source } from '../../../src/producers/ingress/index.ts';
import { delivery, fixture, made, multipart, sourceOf } from './deliveries.ts';

const SOURCE = sourceOf('mime');

async function raw(lines: readonly string[] | Buffer, source: Source = SOURCE): Promise<Mapped> {
  const body = Buffer.isBuffer(lines) ? lines : Buffer.from(lines.join('\r\n'));
  return ADAPTERS.mime.map(made(body), source);
}

function letter(headers: readonly string[], body = 'Where is my order?'): string[] {
  const from = headers.some((line) => line.startsWith('From:'))
    ? []
    : ['From: Ana <Ana@Example.com>'];
  return [...from, 'To: support@support.example.com', ...headers, '', body];
}

test.each([
  ['Auto-Submitted: auto-replied'],
  ['Auto-Submitted: auto-generated; owner-token=1'],
  ['Precedence: bulk'],
  ['Precedence: LIST'],
  ['X-Auto-Response-Suppress: OOF, AutoReply'],
  ['List-Id: News <news.example.com>'],
  ['Return-Path: <>'],
  ['X-Autorespond: yes'],
  ['Content-Type: multipart/report; boundary=x'],
  ['From: MAILER-DAEMON@example.com'],
  ['From: "Shop" <no-reply@shop.example.com>'],
  ['From: noreply+7@shop.example.com'],
  ['From: do_not_reply@shop.example.com'],
  ['From: bounces-77@shop.example.com'],
])('a mail of a machine is left alone: %s', async (sign) => {
  const { accept, ignored } = await raw(letter([sign]));

  expect(accept).toEqual([]);
  expect(ignored).toMatchObject([{ why: 'auto_reply' }]);
});

test.each(['From: support@support.example.com', 'From: Support+t81@SUPPORT.example.com'])(
  'a mail from a mailbox of ours is our own: %s',
  async (from) => {
    expect((await raw(letter([from]))).ignored).toMatchObject([{ why: 'own_reply' }]);
  },
);

test.each([
  ['Auto-Submitted: no'],
  ['Precedence: first-class'],
  ['From: Nora Reply <nora.reply@example.com>'],
  ['Return-Path: <ana@example.com>'],
  ['Constructor: x'],
])('a mail of a person is accepted: %s', async (header) => {
  expect((await raw(letter([header]))).accept).toHaveLength(1);
});

test('a bounce is known by its empty envelope, also from SendGrid and Mailgun', async () => {
  const from = { type: 'multipart/form-data; boundary=b' };
  const sendgrid = multipart(
    {
      from: 'ana@example.com',
      text: 'x',
      envelope: '{"to":["support@support.example.com"],"from":""}',
    },
    'b',
  );
  const mailgun = multipart({ from: 'ana@example.com', 'body-plain': 'x', sender: '' }, 'b');

  for (const [type, body] of [
    ['sendgrid', sendgrid],
    ['mailgun', mailgun],
  ] as const) {
    const { ignored } = await ADAPTERS[type].map(
      made(body, { 'content-type': from.type }),
      sourceOf(type),
    );
    expect(ignored, type).toMatchObject([{ why: 'auto_reply' }]);
  }
});

async function conversation(...headers: string[]): Promise<string | undefined> {
  return (await raw(letter(headers))).accept[0]?.conversationId;
}

test('a mail finds its conversation by mailbox tag, then by our mail it answers, then by a tag in the subject', async () => {
  const tagged = 'To: "S" <support+T81@support.example.com>';
  const ours = 'References: <a@example.com> <t82.7@support.example.com>';
  const subject = 'Subject: Re: My order [ref:t83]';

  expect(await conversation(subject, ours, tagged)).toBe('t81');
  expect(await conversation(subject, ours)).toBe('t82');
  expect(await conversation('In-Reply-To: <t84.9@support.example.com>')).toBe('t84');
  expect(await conversation(subject)).toBe('t83');
});

test('a thread without tags is the conversation of the mail it began with', async () => {
  const first = await conversation('Message-ID: <First@mail.example.com>');
  const second = await conversation(
    'Message-ID: <second@mail.example.com>',
    'References: <first@mail.example.com> <other@mail.example.com>',
  );

  expect(first).toMatch(/^m[0-9a-f]{24}$/);
  expect(second).toBe(first);
  expect(await conversation(`To: support+${first}@support.example.com`)).toBe(first);
});

test('the subject alone joins nothing, and a tag of somebody else counts for nothing', async () => {
  const one = await conversation('Message-ID: <1@example.com>', 'Subject: My order');
  const other = await conversation('Message-ID: <2@example.com>', 'Subject: My order');

  expect(one).not.toBe(other);
  expect(await conversation('To: sales+t81@support.example.com')).not.toBe('t81');
  expect(await conversation('In-Reply-To: <t81.1@evil.example.com>')).not.toBe('t81');
});

test('mails of any charset and encoding become text', async () => {
  const head = ['From: Ana <ana@example.com>', 'To: support@support.example.com'];
  const latin = Buffer.concat([
    Buffer.from(
      [
        ...head,
        'Subject: =?iso-8859-1?Q?R=FCckgabe?=',
        'Content-Type: text/plain; charset=iso-8859-1',
        '',
        '',
      ].join('\r\n'),
    ),
    Buffer.from('Größe 42', 'latin1'),
  ]);
  const japanese = [
    ...head,
    'Content-Type: text/plain; charset=iso-2022-jp',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from([0x1b, 0x24, 0x42, 0x43, 0x6d, 0x4a, 0x38, 0x1b, 0x28, 0x42]).toString('base64'),
  ];
  const printable = [
    ...head,
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>Wo ist =F0=9F=93=A6?</p>',
  ];

  expect((await raw(latin)).accept[0]).toMatchObject({ text: 'Größe 42', subject: 'Rückgabe' });
  expect((await raw(japanese)).accept[0]?.text).toBe('注文');
  expect((await raw(printable)).accept[0]?.text).toBe('Wo ist 📦?');
});

test('a mail with parts gives its text, names its attachments and splits its quote off', async () => {
  const { accept } = await raw([
    'From: Ana <ana@example.com>',
    'To: support@support.example.com',
    'Message-ID: <X1@mail.example.com>',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'See the photo.',
    '',
    'Am 3.3.2026 um 09:00 schrieb Support <s@example.com>:',
    '> Haben Sie ein Foto?',
    '--b',
    'Content-Type: image/jpeg; name="photo.jpg"',
    'Content-Disposition: attachment; filename="photo.jpg"',
    'Content-Transfer-Encoding: base64',
    '',
    '/9j/4AAQSkZJRg==',
    '--b--',
  ]);

  expect(accept).toMatchObject([
    {
      messageId: '<x1@mail.example.com>',
      text: 'See the photo.',
      quoted: expect.stringContaining('Haben Sie ein Foto?'),
      requester: { id: 'ana@example.com', assurance: 'claimed' },
      attachments: [{ name: 'photo.jpg', type: 'image/jpeg', bytes: 10 }],
    },
  ]);
});

test('SendGrid: each field is read in its own charset, files are named, and unknown charsets give readable text', async () => {
  const file = {
    field: 'attachment1',
    name: 'photo.jpg',
    type: 'image/jpeg',
    content: Buffer.from([0, 255, 13, 10]),
  };
  const fields = (charset: string) => ({
    from: 'Ana <ana@example.com>',
    to: 'support@support.example.com',
    text: Buffer.from('Größe 42', 'latin1'),
    subject: 'Rückgabe',
    charsets: JSON.stringify({ text: charset, subject: 'UTF-8' }),
  });

  for (const charset of ['iso-8859-1', 'nobody-knows-8']) {
    const body = multipart(fields(charset), 'b', file);
    const { accept } = await ADAPTERS.sendgrid.map(
      made(body, { 'content-type': 'multipart/form-data; boundary="b"' }),
      sourceOf('sendgrid'),
    );
    expect(accept, charset).toMatchObject([
      {
        text: 'Größe 42',
        subject: 'Rückgabe',
        attachments: [{ name: 'photo.jpg', type: 'image/jpeg', bytes: 4 }],
      },
    ]);
  }
});

test.each([
  ['signed by its own domain', '{@example.com : pass}', 'none', 'verified'],
  [
    'signed by the domain above',
    '{@example.com : pass}',
    'none',
    'verified',
    'ana@mail.example.com',
  ],
  ['sent from where its domain says', 'none', 'pass', 'verified'],
  ['signed by another domain', '{@evil.example.net : pass}', 'none', 'claimed'],
  ['signed by a domain that only ends the same', '{@ample.com : pass}', 'none', 'claimed'],
  ['signed by a whole top-level domain', '{@com : pass}', 'none', 'claimed'],
  ['with a signature that failed', '{@example.com : fail}', 'softfail', 'claimed'],
])(
  'SendGrid: a mail %s comes from somebody %4$s',
  async (_how, dkim, spf, assurance, from = 'ana@example.com') => {
    const envelope = JSON.stringify({
      to: ['support@support.example.com'],
      from: 'ana@example.com',
    });
    const body = multipart({ from, text: 'x', dkim, SPF: spf, envelope }, 'b');
    const { accept } = await ADAPTERS.sendgrid.map(
      made(body, { 'content-type': 'multipart/form-data; boundary=b' }),
      sourceOf('sendgrid'),
    );

    expect(accept[0]?.requester).toEqual({ id: from, assurance });
  },
);

test('SendGrid and Mailgun hand on whole mails too', async () => {
  const mail = letter(['Message-ID: <raw@example.com>'], 'Raw, Größe 42').join('\r\n');
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  const sendgrid = await ADAPTERS.sendgrid.map(
    made(multipart({ email: mail }, 'b'), type),
    sourceOf('sendgrid'),
  );
  const mailgun = await ADAPTERS.mailgun.map(
    made(
      multipart(
        { 'body-mime': mail, recipient: 'support+t9@support.example.com', token: 'k' },
        'b',
      ),
      type,
    ),
    sourceOf('mailgun'),
  );

  expect(sendgrid.accept[0]).toMatchObject({
    text: 'Raw, Größe 42',
    messageId: '<raw@example.com>',
  });
  expect(mailgun.accept[0]).toMatchObject({
    text: 'Raw, Größe 42',
    conversationId: 't9',
    deliveryId: 'k',
  });
});

test.each([
  ['cut off', (body: Buffer) => body.subarray(0, -40)],
  ['under another boundary', () => Buffer.from('--other\r\n\r\n--other--')],
  ['with a part without a name', () => Buffer.from('--b\r\nX: y\r\n\r\nz\r\n--b--\r\n')],
  [
    'of too many parts',
    () =>
      multipart(Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`f${at}`, 'x'])), 'b'),
  ],
])('a form %s is not guessed at', async (_what, change) => {
  const body = change(multipart({ from: 'ana@example.com', text: 'Hello' }, 'b'));
  const request = made(body, { 'content-type': 'multipart/form-data; boundary=b' });

  await expect(ADAPTERS.sendgrid.map(request, sourceOf('sendgrid'))).rejects.toThrow(TypeError);
});

test('a mail without an id of its own has one that a repeat has too', async () => {
  const [first, second] = [await raw(letter([])), await raw(letter([]))];

  expect(first.accept[0]?.messageId).toMatch(/^body-/);
  expect(second.accept[0]?.messageId).toBe(first.accept[0]?.messageId);
});

test('ids and headers of any length are taken', async () => {
  const { accept } = await raw(
    letter([
      `Message-ID: <${'x'.repeat(3_000)}@example.com>`,
      `Subject: ${'s'.repeat(5_000)}`,
      `From: ${'l'.repeat(400)}@example.com`,
    ]),
  );

  expect(accept[0]?.messageId).toMatch(/^long-[0-9a-f]{64}$/);
  expect(accept[0]?.subject).toHaveLength(1_000);
  expect(accept[0]?.requester.id).toMatch(/^long-/);
});

test('headers made to keep a parser busy do not', async () => {
  const started = performance.now();
  await raw(letter([`To: ${'+'.repeat(200_000)}`, `References: ${'<'.repeat(200_000)}`])).catch(
    () => {},
  );
  const form = `--b\r\nContent-Disposition:${'; '.repeat(4_000)}name="from"\r\n\r\nx\r\n--b--\r\n`;
  await ADAPTERS.sendgrid
    .map(made(form, { 'content-type': 'multipart/form-data; boundary=b' }), sourceOf('sendgrid'))
    .catch(() => {});

  expect(performance.now() - started).toBeLessThan(2_000);
});

test('Postmark: a mail with HTML only is read, with its quote split off', async () => {
  const { request, source } = delivery('postmark.inbound.json');
  const body = fixture('postmark.inbound.json')
    .toString()
    .replace(/"TextBody":"(?:[^"\\]|\\.)*"/, '"TextBody":""');
  const { accept } = await source.adapter.map({ ...request, rawBody: Buffer.from(body) }, source);

  expect(accept[0]).toMatchObject({
    text: 'It has been nine days.',
    quoted: expect.stringContaining('> We will look into it.'),
  });
});

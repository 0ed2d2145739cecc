// An extension of pi: has the first turn call the tool "read", and the next one answer.
export default function (pi) {
  const turns = [process.env.CALL, process.env.ANSWER];
  pi.on('before_provider_request', ({ payload }) => ({ ...payload, regex: turns.shift() }));
}

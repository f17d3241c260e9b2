"""A session with everything that a report shows, and texts that would like to be more than text."""

import ullage

WINDOW = 8_000
# Tokens beside the messages: a provider's own count is so much larger.
BESIDE = 700
# Each of these ends a careless page, table or attribute, or turns it around.
HOSTILE = (
    "</pre></details></main></body><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\"><style>*{display:none}</style>"
    "]]><!-- &lt;b&gt; ' \" ` ${1} \x00 \x1b[31m \ud800 \udfff \ufffe \uffff \u202e\u2066 \u200b"
    " \U000e0041 a\u0301\u0301\u0301 \u05d0\u05d1 \u2028 \r\n\r javascript:alert(1)"
)


def ask(text):
    return {"role": "user", "content": text}


def call(number):
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(number, text):
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def record(recorder, store, *, requests=40, large_at=20, text=HOSTILE, window=WINDOW):
    """Plays a session as a host does, and gives back its messages."""
    policy = ullage.Policy(window=window, reserve_output=window // 8)
    engine = ullage.ContextManager(policy, store=store, recorder=recorder)
    counter = ullage.TokenCounter()
    messages = [ask("Look at everything.")]
    for number in range(requests):
        engine.compact(messages)
        engine.observe(messages, counter.count_messages(messages) + BESIDE)
        lines = "".join(
            f"{number} {line} {text}\n" for line in range(40 if number == large_at else 4)
        )
        messages += [call(number), result(number, engine.shrink("look", lines))]
    return messages

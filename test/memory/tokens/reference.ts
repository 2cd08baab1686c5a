import { createRequire } from 'node:module'
import { Tiktoken } from 'js-tiktoken/lite'

const require = createRequire(import.meta.url)
const encoders = new Map<string, Tiktoken>()

/** js-tiktoken's own encoder, told that special tokens are text. It takes quadratic time: short texts only. */
export function jsTiktoken(encoding: 'o200k_base' | 'cl100k_base'): (text: string) => number {
  const encoder = encoders.get(encoding) ?? new Tiktoken(require(`js-tiktoken/ranks/${encoding}`))
  encoders.set(encoding, encoder)
  return (text) => encoder.encode(text, [], []).length
}

/** Texts as they come, by kind. Written for this test. */
export const corpus: Readonly<Record<string, string>> = {
  English:
    "The harbour was quiet, as it always is on a Sunday. We'd walked for 3 hours (about 14.5 km!) before anyone said a word; then Ann laughed: “You're lost, aren't you?” — I wasn't, but I couldn't prove it.\n\n  An unsystematically re-anthropomorphised paragraph follows…",
  Chinese:
    '今天下午三点，我们在上海图书馆讨论了《红楼梦》的英译本。价格是人民币128元，折扣后只要96.5元！如果明天下雨，活动改到线上举行；請注意時間變更。\n',
  Japanese:
    '来週の会議は東京駅の近くで行われます。カタカナとひらがな、漢字が混ざった文章です。「お誕生日おめでとうございます」と彼女は言った。ﾊﾝｶｸも少し。',
  Korean:
    '내일 아침 일곱 시에 서울역에서 만나요. 회의 자료는 이미 이메일로 보냈습니다. 궁금한 점이 있으면 언제든지 말씀해 주세요! ㅋㅋㅋ',
  Russian:
    'В четверг мы поехали за город, хотя синоптики обещали грозу. «Ничего страшного», — сказал дед и взял с собой три зонта. Ёжик ушёл в туман.',
  Arabic: 'ذهبنا إلى السوق صباحًا واشترينا الخبز والزيتون، ثم عدنا قبل أن يشتد الحر.',
  Hindi: 'कल सुबह हम सब मिलकर नदी के किनारे घूमने जाएँगे, अगर मौसम अच्छा रहा।',
  code: 'export function sum(xs: readonly number[]): number {\n\treturn xs.reduce((a, b) => a + b, 0) // O(n)\n}\n\nif __name__ == \'__main__\':\n    print(f"{sum([1, 2, 3])!r:>10}")\r\n#include <stdio.h>\nint main(void){for(;;);}\n/* a/b//c */',
  JSON: '{"id":"call_9f3","type":"function","function":{"name":"get_weather","arguments":"{\\"city\\":\\"Zürich\\",\\"days\\":[1,2,3],\\"unit\\":null}"},"nested":{"a":{"b":{"c":[true,false,-1.5e-10]}}}}\n',
  base64: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  URL: 'https://example.com/a/b/../c?q=%E4%BD%A0%E5%A5%BD&x=1#frag-2024-01-31T10:20:30.123Z',
  table:
    '| name   | value |\n|:-------|------:|\n| a      |     1 |\n+---------+\n================\n                    \t\t\t\n',
  emoji: '👍🏽 👩‍👩‍👧‍👦 🇩🇪🇯🇵 🏳️‍🌈 ☕️ 1️⃣ 🤷🏻‍♂️😀😀😀😀😀',
  combining: 'é e\u0301 n\u0303a\u0308\u0304o\u20dd Z\u0351\u036b\u0343a\u0323\u0326lgo ﬁ Ǆ ʰ ª',
  spaces: 'a\u00a0b\u2003c\u3000d\u2028e\u202ff \u200bg\u00adh\t \n \r\n\v\fi   ',
  casing: "I'LL we'Ve DON'T it'S XMLHttpRequest iPhone McDonald's ÀÉÎõü ΑΒΓδεζ",
  digits: '1 12 123 1234 12345678901234567890 ٣٤٥ Ⅷ ½ 三',
  controls: '\u0000\u0001\u001b[31mred\u001b[0m\u007f\u0080\u009f',
}

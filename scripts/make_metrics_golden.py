#!/usr/bin/env python3
"""Writes tests/golden/metrics.json: BLEU, chrF and chrF++ of small cases in every tokenisation, from sacreBLEU itself.

    pip install sacrebleu==2.6.0
    python3 scripts/make_metrics_golden.py

Not needed to build or test: the file is committed, and says which version wrote it.
"""

import json
import pathlib
import platform
import unicodedata

import regex
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import _get_tokenizer

TOKENIZATIONS = ["13a", "zh", "char", "intl", "none"]

# name, hypotheses, references
CASES = [
    ("plain English",
     ["The cat sat on the mat.", "It is raining again today, isn't it?"],
     ["The cat is sitting on the mat.", "It's raining again today, isn't it?"]),
    ("plain Chinese",
     ["猫坐在垫子上。", "今天又下雨了，不是吗？"],
     ["那只猫正坐在垫子上。", "今天又下雨了，对不对？"]),
    ("Chinese and Latin mixed",
     ["请打开LibreOffice Writer的“格式”菜单，选择“字符...”。", "按Ctrl+S保存为my-file_v2.0.odt文件。"],
     ["请在 LibreOffice Writer 中打开“格式”菜单，然后选择“字符...”。", "按 Ctrl+S 保存为 my-file_v2.0.odt。"]),
    ("emoji, joiners, flags, skin tones",
     ["I ❤️ it 😀👍🏽!", "一家人👨‍👩‍👧‍👦去🇨🇳旅行✈。"],
     ["I love it 😀👍🏿!", "一家人👨‍👩‍👧去🇨🇳旅行✈️！"]),
    ("empty hypothesis among others",
     ["", "a small step for a man", "   "],
     ["something was here", "one small step for a man", "一个空行"]),
    ("empty reference among others",
     ["something is here", "one small step for man"],
     ["", "one small step for a man"]),
    ("both empty", ["", ""], ["", ""]),
    ("hypotheses all empty", ["", " "], ["not empty", "也不空"]),
    ("one word, equal", ["yes"], ["yes"]),
    ("one word, different", ["yes"], ["no"]),
    ("one Chinese character", ["好"], ["好"]),
    ("three words, equal", ["no more words"], ["no more words"]),
    ("no match at all", ["alpha beta gamma delta epsilon"], ["一二三四五六七八"]),
    ("no match of longer n-grams", ["d c b a e"], ["a x b y c z d"]),
    ("identical",
     ["The quick brown fox jumps over the lazy dog.", "敏捷的棕色狐狸跳过了懒狗。"],
     ["The quick brown fox jumps over the lazy dog.", "敏捷的棕色狐狸跳过了懒狗。"]),
    ("hypothesis longer",
     ["the the the the the cat cat sat sat on on the the mat mat mat", "他他他说说说了了了很多很多很多话话话"],
     ["the cat sat on the mat", "他说了很多话"]),
    ("hypothesis shorter",
     ["the cat", "他说了"],
     ["the cat sat on the mat while it was raining", "他在会议上说了很多很多话"]),
    ("full-width punctuation",
     ["（一）“你好”，她说：‘再见’——真的？！《书名》……", "全角ＡＢＣ１２３％，半角ABC123%。"],
     ["(一)\"你好\",她说:'再见'--真的?!《书名》…", "全角ABC123%，半角ＡＢＣ１２３％．"]),
    ("numbers",
     ["It grew 3.14% to 1,000 from 1,000,000.50 in 1999-2000.", "10-12岁的儿童占25.5%，约1,234人。 -5 .5 5. ,5 5,"],
     ["It grew by 3.14 % to 1000 from 1,000,000.5 in 1999-2000.", "10至12岁儿童占25.5%，约为1,234人。 -5 0.5 5 . ,5 5 ,"]),
    ("HTML entities",
     ["He said &quot;a &lt; b &amp;&amp; c &gt; d&quot;.", "&amp;quot; &amp;lt;tag&amp;gt; &apos; &#39; &nbsp; a&b"],
     ["He said \"a < b && c > d\".", "&quot; <tag> ' ' &nbsp; a & b"]),
    ("skipped segments and joined hyphens",
     ["<skipped> a text <skipped>with holes", "a line-\nbroken\nword - \n-"],
     ["a text with holes", "a linebroken word - -"]),
    ("rare Han beyond U+FFFF",
     ["𠮷野家的𠮷字，𪜀𫝀。", "⺀⼀〇々㐀龻龼鿿豈"],
     ["𠮷野家的吉字，𪜀𫝁。", "⺀⼀〇々㐀龻龼鿾豈"]),
    ("white space of every kind",
     ["  two  spaces\tand a tab \u00a0no-break\u2009thin\u3000ideographic ", "a\u200bb\u200cc\ufeffd\u2060e\u1680f\u0085g\u2028h\x1ci"],
     ["two spaces and a tab no-break thin ideographic", "a b c d e f g h i"]),
    ("control and unassigned characters",
     ["a\x00b \x07 c\x7fd \ufffd \ue000 \U000e0001 \u0378", "\ufeffbegins with a mark"],
     ["a\x00b c \x7f d \ufffd \ue000 \u0378", "begins with a mark"]),
    ("combining marks, not normalised",
     ["cafe\u0301 nai\u0308ve a\u030a", "हिन्दी में पाठ।"],
     ["café naïve å", "हिन्दी का पाठ।"]),
    ("punctuation in rows",
     ["...a,,,b...1,,,2.,.3 --- 1--2 a--b (((x))) !!!", "“”‘’«»¿¡·•† $5 €5 £5 ¥5 ©®™ ±×÷ ½ ² Ⅷ ①"],
     ["... a , b...1,2.3 --- 1 - - 2 a -- b ((x)) !", "\"\" '' «» ¿¡ · • $ 5 5€ 5£ ¥ 5 © ® ™ ± × ÷ 1/2 ^2 VIII 1"]),
    ("words with punctuation at their ends",
     ["(hi) 'twas \"quoted\" a. .b -- ! (word !word) semi;colon"],
     ["( hi ) 'twas \"quoted\" a . .b --- ! (word) !word) semi; colon"]),
    ("Japanese and Korean",
     ["これはペンです。ｶﾀｶﾅ", "이것은 펜입니다."],
     ["これはえんぴつです。カタカナ", "이것은 연필입니다."]),
    ("tokenised already",
     ["The cat , which sat on the mat , was black .", "他 是 一名 学生 。"],
     ["The cat , that sat on the mat , was black .", "他 曾 是 一名 学生 。"]),
]


def too_new(character):
    """True where the regex module knows a class for a character that Python's Unicode tables do not have yet: whether it
    is punctuation then depends on the release of a library, here as in sacreBLEU."""
    return unicodedata.category(character) == "Cn" and regex.match(r"[\p{N}\p{P}\p{S}]", character) is not None


def characters():
    """Sentences with each ASCII mark, and with characters around every border of the zh table, between all neighbours."""
    borders = [0x2000, 0x2a6d, 0x2e80, 0x2eff, 0x2f00, 0x2fdf, 0x2ff0, 0x2fff, 0x3000, 0x303f, 0x3040, 0x3100, 0x312f,
               0x31a0, 0x31bf, 0x31c0, 0x31ef, 0x3200, 0x33ff, 0x3400, 0x4db5, 0x4e00, 0x9fa5, 0x9fa6, 0x9fbb, 0xf900,
               0xfa2d, 0xfa30, 0xfa6a, 0xfa70, 0xfad9, 0xfe10, 0xfe1f, 0xfe30, 0xfe4f, 0xff00, 0xffef, 0x2600, 0x26ff,
               0x2700, 0x27bf, 0x20000, 0x2a6d6, 0x2f800, 0x2fa1d]
    points = list(range(0x21, 0x30)) + list(range(0x3a, 0x41)) + list(range(0x5b, 0x61)) + list(range(0x7b, 0xc0))
    for border in borders:
        points += [border - 1, border, border + 1]
    seen = sorted(point for point in set(points) if not too_new(chr(point)))
    for start in range(0, len(seen), 24):
        marks = [chr(point) for point in seen[start:start + 24]]
        yield " ".join(f"a{m}a 1{m}1 a{m}1 1{m}a {m}a{m} {m}1{m} 字{m}字" for m in marks)


def tokens(text, tokenization):
    return _get_tokenizer(tokenization)()(text.rstrip()).split()


def bleu(hypotheses, references, tokenization):
    metric = BLEU(tokenize=tokenization)
    score = metric.corpus_score(hypotheses, [references])
    signature = metric.get_signature().format()
    by_sentence = BLEU(tokenize=tokenization, effective_order=True)
    return {
        "score": score.score, "precisions": score.precisions, "matches": score.counts, "totals": score.totals,
        "brevity_penalty": score.bp, "hypothesis_length": score.sys_len, "reference_length": score.ref_len,
        "signature": signature, "text1": score.format(1, signature=signature),
        "text4": score.format(4, signature=signature),
        "sentences": [by_sentence.sentence_score(h, [r]).score for h, r in zip(hypotheses, references)],
        "sentence_signature": by_sentence.get_signature().format(),
        "hypothesis_tokens": [" ".join(tokens(text, tokenization)) for text in hypotheses],
    }


def chrf(hypotheses, references, word_order):
    metric = CHRF(word_order=word_order)
    score = metric.corpus_score(hypotheses, [references])
    signature = metric.get_signature().format()
    return {
        "score": score.score, "name": score.name, "signature": signature,
        "text1": score.format(1, signature=signature), "text4": score.format(4, signature=signature),
        "sentences": [metric.sentence_score(h, [r]).score for h, r in zip(hypotheses, references)],
    }


def main():
    golden = {
        "made_by": "scripts/make_metrics_golden.py", "sacrebleu": sacrebleu.__version__,
        "python": platform.python_version(), "regex": regex.__version__,
        "cases": [{
            "name": name, "hypotheses": hypotheses, "references": references,
            "bleu": {tokenization: bleu(hypotheses, references, tokenization) for tokenization in TOKENIZATIONS},
            "chrf": chrf(hypotheses, references, 0), "chrf++": chrf(hypotheses, references, 2),
        } for name, hypotheses, references in CASES],
        "characters": [{
            "text": text, **{tokenization: " ".join(tokens(text, tokenization)) for tokenization in TOKENIZATIONS},
        } for text in characters()],
    }
    path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "metrics.json"
    path.parent.mkdir(exist_ok=True)
    # ASCII with escapes, so that no editor changes invisible characters; a case a line, so that differences can be read.
    text = json.dumps(golden, separators=(",", ":")).replace('{"name":', '\n{"name":').replace('{"text":', '\n{"text":')
    path.write_text(text + "\n", encoding="ascii")
    print(f"{path}: {len(golden['cases'])} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
